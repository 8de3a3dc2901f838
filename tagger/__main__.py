"""The program `tagger`, also as `python -m tagger`: Ctrl-C ends it silently until the command line is loaded."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tagger.cli import main

    main()


if __name__ == "__main__":
    main()
