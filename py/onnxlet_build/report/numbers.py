"""Numbers as a person reads them: no more digits than were measured, never without a unit."""

import math

__all__ = ["cosine", "count", "decibels", "duration", "error", "milliseconds", "share", "size", "smaller", "speed"]

_DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NONE = "–"


def size(count_bytes: int) -> str:
    """Bytes in decimal units, as browsers and hosts count them: ``4.86 MB``."""
    value, unit = float(count_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{count_bytes} bytes" if unit == "bytes" else f"{_three_digits(value)} {unit}"


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}×" if ratio < 9.95 else f"{ratio:,.0f}×"


def smaller(ratio: float | None) -> str:
    """The original's bytes over a variant's: ``3.9× smaller``."""
    return _compared(ratio, "smaller", "larger", "the same size", 0.01)


def speed(ratio: float | None) -> str:
    """The original's time over a variant's: ``2.1× faster``. Less than 5% is what one more run would change."""
    return _compared(ratio, "faster", "slower", "as fast", 0.05)


def _compared(ratio: float | None, more: str, less: str, same: str, margin: float) -> str:
    if ratio is None or not ratio > 0 or math.isinf(ratio):
        return NONE
    if abs(ratio - 1) < margin:
        return same
    factor = max(ratio, 1 / ratio)
    text = _times(factor) if factor >= 1.095 else f"{factor - 1:.0%}"
    return f"{text} {more if ratio > 1 else less}"


def decibels(value: float) -> str:
    """A signal-to-noise ratio: ``41.3 dB``; "equal" where there is no noise at all."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.1f} dB" if math.isfinite(value) else "equal" if value > 0 else "no signal"


def share(value: float | None) -> str:
    """``98.4%``; what is not all is never rounded to all."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.1%}" if value == 1 or value < 0.9995 else ">99.9%"


def cosine(value: float) -> str:
    """``0.9991``; what is not equal is never rounded to 1."""
    if math.isnan(value):
        return NONE
    return "1" if value == 1 else f"{value:.4f}" if value < 0.99995 else ">0.9999"


def error(value: float) -> str:
    """An absolute difference: two digits tell all there is: ``0.012``, ``1.2 × 10⁻⁷``."""
    if not math.isfinite(value):
        return NONE if math.isnan(value) else "infinite"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{float(f'{value:.2g}'):g}" if abs(value) < 100 else f"{value:,.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_DIGITS)}"


def milliseconds(value: float) -> str:
    """``38 ms``, ``1.4 s``."""
    if not value > 0:
        return NONE
    return f"{value:.2g} ms" if value < 9.95 else f"{value:.0f} ms" if value < 999.5 else f"{value / 1000:.1f} s"


def duration(seconds: float) -> str:
    """``0.4 s``, ``3 min 20 s``."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(number: int, one: str, many: str = "") -> str:
    """``1 node``, ``1,203 nodes``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
