"""The places that tests read from, wherever pytest is started."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
DATA = ROOT / "data"
TRAIN, TEST = DATA / "english-train.txt", DATA / "english-test.txt"
CHINESE_TRAIN, CHINESE_TEST = DATA / "chinese-train.txt", DATA / "chinese-test.txt"
