"""Entry point of `tagger` and `python -m tagger`. Ctrl-C ends it silently until the command line is loaded."""

import gc
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # imports make thousands of objects and no garbage; `cli.Commands` switches it on again
    from tagger.cli import main

    main()


if __name__ == "__main__":
    main()
