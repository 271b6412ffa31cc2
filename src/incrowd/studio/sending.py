"""Files for the owner to keep: always saved by the browser, never shown, and under names of ours."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from starlette.responses import Response


def send(content: bytes, name: str, media_type: str) -> Response:
    """Return a file to save."""
    return Response(content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def packed(folder: Path, inside: str) -> bytes:
    """Return a folder as a zip file; the files lie in a folder of its name, and tell no time and no user."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                entry = zipfile.ZipInfo(f"{inside}/{path.relative_to(folder).as_posix()}")
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
                archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()
