"""DNS over HTTP/3 by aioquic, which shares no code with ours.

    doh3.py serve CERTIFICATE KEY             a server; prints its port, and what it has counted once its input ends
    doh3.py ask PORT CA METHOD NAME COUNT     a client of a server on 127.0.0.1; prints what it has received

Run by beside/doh3.rs, in the environment that scripts/install-pypi readers makes.
"""
import asyncio
import base64
import json
import struct
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated

MESSAGE = b"application/dns-message"
COUNTS = {"get": 0, "post": 0, "refused": 0, "connections": 0, "errors": {}}


def answer(query):
    """The query with QR set, and one A record for its name."""
    header = query[:2] + bytes([query[2] | 0x80, 0]) + query[4:6] + b"\0\1\0\0\0\0"
    end = 12
    while query[end]:
        end += query[end] + 1
    record = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 300, 4) + bytes([192, 0, 2, 9])
    return header + query[12 : end + 5] + record


class Server(QuicConnectionProtocol):
    """Answers each request as RFC 8484 says, with informational responses, trailers and grease around it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.requests = None, {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
            COUNTS["connections"] += 1
            # A stream of a type that nobody knows (RFC 9114, 6.2.3).
            grease = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self._quic.send_stream_data(grease, b"\x21" + b"grease" * 10, end_stream=True)
        if isinstance(event, ConnectionTerminated):
            code = str(event.error_code)
            COUNTS["errors"][code] = COUNTS["errors"].get(code, 0) + 1
        if self.http is None:
            return
        for got in self.http.handle_event(event):
            if isinstance(got, HeadersReceived):
                request = self.requests.setdefault(got.stream_id, {"headers": dict(got.headers), "body": b""})
            elif isinstance(got, DataReceived):
                request = self.requests[got.stream_id]
                request["body"] += got.data
            else:
                continue
            if got.stream_ended:
                self.respond(got.stream_id, self.requests.pop(got.stream_id))
        self.transmit()

    def respond(self, stream, request):
        headers = request["headers"]
        method, path = headers[b":method"], headers[b":path"].split(b"?dns=")
        assert headers[b":scheme"] == b"https" and headers[b"accept"] == MESSAGE, headers
        if path[0] != b"/dns-query":
            COUNTS["refused"] += 1
            self.http.send_headers(stream, [(b":status", b"404")], end_stream=True)
            return
        if method == b"GET":
            query = base64.urlsafe_b64decode(path[1] + b"=" * (-len(path[1]) % 4))
        else:
            assert headers[b"content-type"] == MESSAGE and method == b"POST", headers
            query = request["body"]
            assert int(headers[b"content-length"]) == len(query), headers
        assert query[:2] == b"\0\0", "the ID is 0"
        COUNTS[method.decode().lower()] += 1
        message = answer(query)
        self.http.send_headers(stream, [(b":status", b"103"), (b"link", b"</style.css>; rel=preload")])
        head = [(b":status", b"200"), (b"content-type", MESSAGE), (b"content-length", b"%d" % len(message))]
        self.http.send_headers(stream, head + [(b"server", b"aioquic"), (b"x-name", b"value")])
        self.http.send_data(stream, message[:10], end_stream=False)
        # A frame of a type that nobody knows, between those of the body.
        self._quic.send_stream_data(stream, b"\x21\x03abc")
        self.http.send_data(stream, message[10:], end_stream=False)
        self.http.send_headers(stream, [(b"x-trailer", b"ignored")], end_stream=True)


async def run_server(certificate, key):
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(certificate, key)
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    # Packets that say that connections have ended.
    await asyncio.sleep(0.3)
    print(json.dumps(COUNTS), flush=True)


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.open = H3Connection(self._quic), {}

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            for waiting, _ in self.open.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionError(f"{event.error_code:#x} {event.reason_phrase}"))
        for got in self.http.handle_event(event):
            waiting, parts = self.open[got.stream_id]
            if isinstance(got, HeadersReceived):
                parts["headers"] = {name.decode(): value.decode() for name, value in got.headers}
            elif isinstance(got, DataReceived):
                parts["body"] += got.data
            if got.stream_ended and not waiting.done():
                waiting.set_result(parts)

    def ask(self, headers, body):
        stream = self._quic.get_next_available_stream_id()
        waiting = self._loop.create_future()
        self.open[stream] = (waiting, {"body": b""})
        self.http.send_headers(stream, headers, end_stream=body is None)
        if body is not None:
            # In two pieces.
            self.http.send_data(stream, body[:5], end_stream=False)
            self.http.send_data(stream, body[5:], end_stream=True)
        self.transmit()
        return waiting


async def run_client(port, ca, method, name, count):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = b"\0\0\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=True, server_name="localhost")
    configuration.load_verify_locations(ca)
    async with connect("127.0.0.1", int(port), configuration=configuration, create_protocol=Client) as client:
        def request(method, path=None, kind=MESSAGE, body=query):
            path = path or "/dns-query"
            if method == "GET":
                path += "?dns=" + base64.urlsafe_b64encode(query).rstrip(b"=").decode()
            headers = [(b":method", method.encode()), (b":scheme", b"https"), (b":authority", b"localhost")]
            headers += [(b":path", path.encode()), (b"accept", MESSAGE), (b"user-agent", b"aioquic")]
            if method == "GET":
                return client.ask(headers, None)
            headers += [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
            return client.ask(headers, body)

        answers = await asyncio.gather(*(request(method) for _ in range(int(count))))
        wrong = {
            "404": request("GET", path="/elsewhere"),
            "405": request("PUT"),
            "415": request("POST", kind=b"text/plain"),
            "400": request("POST", body=b"short"),
        }
        statuses = {status: (await waiting)["headers"][":status"] for status, waiting in wrong.items()}
    assert all(statuses[status] == status for status in wrong), statuses
    assert all(len(got["body"]) == int(got["headers"]["content-length"]) for got in answers)
    first = answers[0]
    assert all(got["body"] == first["body"] and got["headers"] == first["headers"] for got in answers)
    print(json.dumps({"headers": first["headers"], "body": first["body"].hex(), "answers": len(answers)}))


if sys.argv[1] == "serve":
    asyncio.run(run_server(*sys.argv[2:]))
else:
    asyncio.run(asyncio.wait_for(run_client(*sys.argv[2:]), 30))
