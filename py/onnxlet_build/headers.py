"""What a server should say beside a site's files, and what kind each file is."""

from pathlib import Path

__all__ = ["ISOLATION", "MIME", "POLICY", "headers_file", "policy", "read_headers_file"]

# Works for Pyodide, ONNX Runtime Web with threads and WebGPU, without 'unsafe-eval'.
POLICY: dict[str, str] = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "worker-src": "'self' blob:",
    "connect-src": "'self'",
    "img-src": "'self' blob: data:",
    "media-src": "'self' blob:",
    "style-src": "'self'",
    "frame-src": "'self'",  # the picture of a graph
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
}

# SharedArrayBuffer, and with it threads, exists only in pages that are isolated from other origins.
ISOLATION: dict[str, str] = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_ASSETS = "public, max-age=31536000, immutable"  # their names carry their hash

MIME: dict[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".zip": "application/zip",
}


def policy(script_hashes: tuple[str, ...] = (), style_hash: str = "") -> str:
    """The Content-Security-Policy as one line.

    Args:
        script_hashes: base64 sha256 of inline scripts that may run; style_hash: of an inline style sheet.
    """
    inline = {"script-src": script_hashes, "style-src": (style_hash,) if style_hash else ()}
    return "; ".join(
        key + "".join(f" {source}" for source in (value, *(f"'sha256-{digest}'" for digest in inline.get(key, ()))))
        for key, value in POLICY.items()
    )


def headers_file(script_hashes: tuple[str, ...] = (), style_hash: str = "") -> str:
    """The text of ``_headers``, which Netlify and Cloudflare Pages read.

    Args:
        style_hash: of the report's style sheet, which stands in its page.
    """
    everywhere = {
        **ISOLATION,
        "Content-Security-Policy": policy(script_hashes, style_hash),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    lines = ["/*", *(f"  {key}: {value}" for key, value in everywhere.items())]
    return "\n".join([*lines, "/assets/*", f"  Cache-Control: {_ASSETS}", ""])


def read_headers_file(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The rules of a ``_headers`` file as (URL path prefix, headers); [] where there is none."""
    rules: list[tuple[str, dict[str, str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        if line.startswith("/"):
            rules.append((line.strip().removesuffix("*"), {}))
        elif ":" in line and rules:
            key, _, value = line.strip().partition(": ")
            rules[-1][1][key] = value
    return rules
