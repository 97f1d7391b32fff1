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


CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
"""Of CUdevice_attribute."""


def capabilities() -> list[str]:
    """Return the compute capability of each GPU that the driver finds, "9.0": what -arch=native compiles for."""
    if not has_gpu():
        return []
    driver, count, value = ctypes.CDLL(LIBRARY), ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for device in range(count.value):
        numbers = []
        for attribute in (CAPABILITY_MAJOR, CAPABILITY_MINOR):
            driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            numbers.append(str(value.value))
        found.append(".".join(numbers))
    return found


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
