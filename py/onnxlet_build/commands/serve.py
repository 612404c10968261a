"""``build.py serve DIR``: look at a built site."""

import argparse
from pathlib import Path

__all__ = ["describe", "run"]


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = "Serve a built site, as a good static host would."
    parser.add_argument("dir", nargs="?", type=Path, default=Path("dist"), help="the site (default: dist)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--no-isolation", action="store_true", help="send no headers, as a bare host does")
    parser.add_argument("--no-compression", action="store_true", help="send files as they are, as a bare host does")
    parser.add_argument("--log", action="store_true", help="print every request")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from ..serve import make_server

    plain = {"isolation": not options.no_isolation, "compress": not options.no_compression, "log": options.log}
    with make_server(options.dir, options.host, options.port, **plain) as server:
        try:
            print(f"{options.dir}: {server.address} (Ctrl-C ends it)", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
