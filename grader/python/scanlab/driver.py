"""NVIDIA's driver on this machine."""

import ctypes
from pathlib import Path

LIBRARY = "libcuda.so.1"


def has_gpu() -> bool:
    """Return whether the driver is there and finds a GPU."""
    try:
        driver = ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def library_folder() -> Path | None:
    """Return the folder of the driver's libraries, or None without a driver.

    Beside the system's own folders there are containers and clouds with one elsewhere, and only the loader knows.
    """
    try:
        ctypes.CDLL(LIBRARY)
        mapped = [line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()]
    except OSError:
        return None
    # The loader has opened `libcuda.so.1`, the kernel names what it is a link to: `libcuda.so.580.65.06`.
    return next((Path(path).parent for path in mapped if Path(path).name.startswith("libcuda.so")), None)
