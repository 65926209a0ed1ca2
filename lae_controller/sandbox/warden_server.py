"""Forks a warden for each run, so that no interpreter has to start for it. A script of its own.

``python -I -S warden_server.py``, with one end of a socket on fd 0 whose other end only the
controller holds. It detaches itself and ends when the controller does; the wardens it forked go on
by themselves, each in a session of its own, and know nothing of it.

A request is eight bytes of length, with which the lifeline and the pipe for last words travel as
descriptors, and a marshalled dict (see ``warden.py``). There is no answer: the pipe for last words
closes when the warden ends, or if none could be forked.

``python -I -S warden_server.py REQUEST``, with the lifeline on fd 0, last words on fd 2 and the
dict in hexadecimal, makes one warden and no server: for a controller that may not use sockets.
"""

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from lae_controller.sandbox import warden
else:
    import _socket as socket  # the module around it takes longer to import than all else here

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import warden

_LENGTH = 8


def main() -> int:
    """Serve until the controller is gone; or become the one warden that argv[1] describes."""
    if os.fork():
        return 0
    if len(sys.argv) > 1:
        _become_warden(-1, bytes.fromhex(sys.argv[1]), [0, 2])
    os.setsid()
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    while True:
        request = _receive(control)
        if request is None:
            return 0
        payload, descriptors = request
        pid = os.fork()
        if not pid:
            _become_warden(control.fileno(), payload, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(pid, 0)


def _receive(control: "socket.socket") -> "tuple[bytes, list[int]] | None":
    """Return the next request; None if there will be none."""
    size = socket.CMSG_LEN(2 * 4)
    head, ancillary, _, _ = control.recvmsg(_LENGTH, size)
    descriptors = [
        int.from_bytes(data[place : place + 4], sys.byteorder)
        for _, _, data in ancillary
        for place in range(0, len(data) - 3, 4)
    ]
    head += _exactly(control, _LENGTH - len(head)) if head else b""
    payload = _exactly(control, int.from_bytes(head, "big"))
    whole = len(head) == _LENGTH and payload and len(descriptors) == 2
    return (payload, descriptors) if whole else None


def _exactly(control: "socket.socket", count: int) -> bytes:
    """Return so many bytes; fewer if the other end was closed."""
    parts = []
    while count > 0:
        data = os.read(control.fileno(), min(count, 1 << 16))
        if not data:
            break
        parts.append(data)
        count -= len(data)
    return b"".join(parts)


def _become_warden(control: int, payload: bytes, descriptors: "list[int]") -> None:
    """Leave the family of the server and watch one run; never returns."""
    try:
        life, done = descriptors
        null = os.open(os.devnull, os.O_RDWR)
        for ours, number in ((life, 0), (null, 1), (done, 2)):
            os.dup2(ours, number)
        for ours in (life, null, done, control):
            if ours > 2:
                os.close(ours)
        os.setsid()
        if not os.fork():
            warden.watch(marshal.loads(payload))
    except BaseException as error:  # noqa: BLE001 - whoever waits reads it, and nothing goes on
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
