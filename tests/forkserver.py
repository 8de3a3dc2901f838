"""A process that has the package loaded and forks commands: each takes milliseconds instead of half a second.

`python forkserver.py` prints the path of its socket and listens until its standard input ends. A client sends what to
run, in which folder, with which environment and which open files, and receives the exit code. The command is a process
with file descriptors, signals, limits, environment and working directory of its own. Nothing of pytest is loaded in it.
A fork of the process that runs the tests would take three times as long, for it is larger.

`python -IS forkserver.py SOCKET NAME ARGS …` is a client: a stand-in for the program NAME, `tagger` or `python -c`. It
uses built-in modules only, which makes it start in a hundredth of a second.
"""

import _socket
import marshal
import os
import sys

HEADER = 8  # bytes, for the length of what follows
MOST_FILES = 16
BEYOND = 100  # no file that a command inherits has such a number
RETURN = 10  # bytes, for an exit code


def call(path, name, args, folder, env, files, encoding="utf-8", patches=b""):
    """Ask the server at `path` for a command, wait until it ends and return its exit code.

    `files` are descriptors by the numbers that they have in the command; `encoding` is that of its standard output;
    `patches` are values for (module, name) that are set in it first, as pickle writes them.
    """
    body = marshal.dumps((name, args, folder, env, list(files), encoding, patches))
    descriptors = b"".join(file.to_bytes(4, sys.byteorder) for file in files.values())
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(path)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
        connection.sendmsg([len(body).to_bytes(HEADER, "big")], rights)
        connection.sendall(body)
        return int(connection.recv(RETURN))
    finally:
        connection.close()


def serve(folder):
    """Listen on a socket in the folder and fork commands until standard input ends."""
    import selectors
    import signal
    import socket

    keep_memory()
    preload()
    path = os.path.join(folder, "socket")  # noqa: PTH118
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the tests
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake)
    waiting = {}  # process: who waits for its exit code
    with selectors.DefaultSelector() as selector, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        for file in (0, woken, listener.fileno()):
            selector.register(file, selectors.EVENT_READ)
        print(path, flush=True)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if 0 in ready:
                return
            if woken in ready:
                os.read(woken, 1000)
                answer_ended(waiting)
            if listener.fileno() in ready:
                connection, _ = listener.accept()
                waiting[fork_command(connection)] = connection


def keep_memory():
    """Let glibc keep freed memory for the next array: to return and clear pages takes a sixth of a small training."""
    import ctypes

    trim_threshold, mmap_threshold = -1, -3  # as malloc.h has them
    if hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(trim_threshold, 1 << 28)
        ctypes.CDLL(None).mallopt(mmap_threshold, 1 << 25)


def preload():
    """Import what commands import when they need it, once for all forks."""
    import gc
    from importlib import import_module

    import tagger
    from tagger.cli import COMMANDS

    commands = [f"tagger.cli.commands.{name}" for name in COMMANDS.values()]
    lazy = ["scipy.sparse", "scipy.optimize", "threadpoolctl", "tqdm", "tagger.crf.objective", "tagger.crf.lbfgs"]
    for name in [*commands, *lazy, "tagger.tagging.workers"]:
        import_module(name)
    for name in tagger.__all__:
        getattr(tagger, name)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy all pages


def answer_ended(waiting):
    """Send the exit codes of processes that have ended."""
    while waiting:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        connection = waiting.pop(process)
        try:
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        except OSError:  # the client has ended
            pass
        finally:
            connection.close()


def fork_command(connection):
    """Read a request and fork a process for it; return its number."""
    import socket

    header, given, _, _ = socket.recv_fds(connection, HEADER, MOST_FILES)
    with connection.makefile("rb") as stream:
        header += stream.read(HEADER - len(header))
        request = marshal.loads(stream.read(int.from_bytes(header, "big")))
    if not (process := os.fork()):
        become_command(*request, given)
    for file in given:
        os.close(file)
    return process


def become_command(name, args, folder, env, numbers, encoding, patches, given):
    """Turn a fork of the server into the command; never comes back."""
    import fcntl
    import pickle
    import traceback
    from importlib import import_module

    status = 70  # an internal error, as in sysexits.h
    try:
        # First out of the way, for a file may have the number that another one is to get.
        moved = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, BEYOND) for file in given]
        os.closerange(3, BEYOND)
        for number, file in zip(numbers, moved, strict=True):
            os.dup2(file, number)
            os.close(file)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding=encoding)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        os.environ.clear()
        os.environ.update(env)
        os.chdir(folder)
        for (module, variable), value in pickle.loads(patches).items() if patches else ():
            setattr(import_module(module), variable, value)
        forget_server()
        run_as(name, args)
    except SystemExit as leaving:
        status = leaving.code
    except BaseException:
        traceback.print_exc()
    else:
        status = 0
    finally:
        leave(status if isinstance(status, int) else int(status is not None))


def leave(status):
    """End this process as the interpreter does, without the clean-up of the server."""
    try:
        sys.stdout.flush()
    except BaseException:
        status = 120
    finally:
        os._exit(status)


def forget_server():
    """Set signals and warnings as a new interpreter has them."""
    import signal
    import warnings

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    warnings.resetwarnings()
    warnings.simplefilter("default")


def run_as(name, args):
    """Do what `tagger ARGS …` or `python -c SOURCE` does."""
    from types import ModuleType

    if name == "tagger":
        from tagger.__main__ import main

        sys.argv, sys.path[0] = ["tagger", *args], os.path.dirname(sys.executable)  # noqa: PTH120
        main()
    option, source, *rest = args
    assert (name, option) == ("python", "-c"), f"no stand-in for {name} {option}"
    sys.argv, sys.path[0] = ["-c", *rest], ""
    sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(source, "<string>", "exec"), vars(sys.modules["__main__"]))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="tagger-tests-") as folder:
            serve(folder)
    else:
        path, name, *args = sys.argv[1:]
        code = call(path, name, args, os.getcwd(), dict(os.environ), {0: 0, 1: 1, 2: 2})  # noqa: PTH109
        os._exit(code if code >= 0 else 128 - code)  # as a shell reports signals
