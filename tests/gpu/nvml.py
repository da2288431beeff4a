"""The time of each call of NVML's that a reading of a GPU takes, and its answer. It shares no code with the library.

    nvml.py [ROUNDS]     of the first GPU, 100 rounds by default

`nvidia-smi -q` has the same figures. A field that is refused has NVML's error number in place of a value.
"""

import ctypes
import sys
import time

# the fields of common/src/hardware/nvml/layout.rs, and those whose numbers have changed between drivers
OF_GPU = {
    "ECC corrected": 3,
    "ECC uncorrected": 4,
    "power cap, ns": 74,
    "thermal, ns": 75,
    "sync boost, ns": 76,
    "board limit, ns": 77,
    "energy, mJ": 83,
    "PCIe replays": 94,
    "remapped, correctable": 142,
    "remapped, uncorrectable": 143,
    "remapping pending": 144,
    "remapping failed": 145,
    "power of 1 s, mW": 185,
    "power now, mW": 186,
    "power limit, mW": 190,
    "575 to 580: SW thermal, ns": 251,
    "575 to 580: HW thermal, ns": 252,
    "575 to 580: power brake, ns": 253,
    "from 590 on: HW thermal, ns": 270,
    "from 590 on: power brake, ns": 271,
}
OF_LINK = {"replays": 161, "recoveries": 162, "CRC": 163, "recoveries of Blackwell": 215}
LINK_COUNT = 91
XID = 8


class Value(ctypes.Union):
    _fields_ = [("short", ctypes.c_uint), ("whole", ctypes.c_ulonglong)]


class Field(ctypes.Structure):
    _fields_ = [
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("kind", ctypes.c_int),
        ("result", ctypes.c_int),
        ("value", Value),
    ]

    def answer(self):
        if self.result != 0:
            return f"error {self.result}"
        return self.value.short if self.kind == 1 else self.value.whole


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Event(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_void_p),
        ("kind", ctypes.c_ulonglong),
        ("data", ctypes.c_ulonglong),
        ("instances", ctypes.c_uint * 2),
    ]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    assert nvml.nvmlInit_v2() == 0
    version = ctypes.create_string_buffer(80)
    nvml.nvmlSystemGetDriverVersion(version, 80)
    gpu = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)) == 0
    count = (Field * 1)(Field(field=LINK_COUNT))
    nvml.nvmlDeviceGetFieldValues(gpu, 1, count)
    links = count[0].answer() if count[0].result == 0 else 0
    fields = (Field * len(OF_GPU))(*(Field(field=number) for number in OF_GPU.values()))
    of_links = [Field(field=number, scope=link) for link in range(links) for number in OF_LINK.values()]
    of_links = (Field * len(of_links))(*of_links)
    number, mask, used = ctypes.c_uint(), ctypes.c_ulonglong(), Utilization()
    events, event = ctypes.c_void_p(), Event()
    registered = nvml.nvmlEventSetCreate(ctypes.byref(events)) or nvml.nvmlDeviceRegisterEvents(
        gpu, ctypes.c_ulonglong(XID), events
    )

    def plain(name, *kind):
        function = getattr(nvml, name)
        return name, lambda: function(gpu, *kind, ctypes.byref(number)), lambda: number.value

    calls = [
        plain("nvmlDeviceGetClockInfo", 1),
        plain("nvmlDeviceGetClockInfo", 2),
        plain("nvmlDeviceGetMaxClockInfo", 1),
        plain("nvmlDeviceGetTemperature", 0),
        plain("nvmlDeviceGetPowerUsage"),
        plain("nvmlDeviceGetEnforcedPowerLimit"),
        plain("nvmlDeviceGetCurrPcieLinkGeneration"),
        plain("nvmlDeviceGetCurrPcieLinkWidth"),
        (
            "nvmlDeviceGetUtilizationRates",
            lambda: nvml.nvmlDeviceGetUtilizationRates(gpu, ctypes.byref(used)),
            lambda: f"{used.gpu} {used.memory}",
        ),
        (
            "nvmlDeviceGetCurrentClocksEventReasons",
            lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu, ctypes.byref(mask)),
            lambda: hex(mask.value),
        ),
        (
            f"nvmlDeviceGetFieldValues, {len(fields)} of the GPU",
            lambda: nvml.nvmlDeviceGetFieldValues(gpu, len(fields), fields),
            lambda: "below",
        ),
        (
            f"nvmlDeviceGetFieldValues, {len(of_links)} of {links} links",
            lambda: nvml.nvmlDeviceGetFieldValues(gpu, len(of_links), of_links) if links else 0,
            lambda: "below",
        ),
        (
            "nvmlEventSetWait_v2, 1 ms (10: no event)",
            lambda: nvml.nvmlEventSetWait_v2(events, ctypes.byref(event), 1) if registered == 0 else registered,
            lambda: event.data,
        ),
    ]
    print(f"driver {version.value.decode()}, {rounds} rounds; registering for Xids answers {registered}")
    for name, call, answer in calls:
        result, longest = 0, 0
        begun, processor = time.perf_counter(), time.thread_time()
        for _ in range(rounds):
            before = time.perf_counter()
            result = call()
            longest = max(longest, time.perf_counter() - before)
        spent, processor = time.perf_counter() - begun, time.thread_time() - processor
        answer = answer() if result == 0 else f"error {result}"
        each = f"{1e6 * spent / rounds:9.1f} us {1e6 * processor / rounds:9.1f} us of a processor"
        print(f"{each} {1e6 * longest:9.1f} us at most  {name}: {answer}")
    for name, field in zip(OF_GPU, fields):
        print(f"field {field.field:3} {field.latency:6} us  type {field.kind}  {name}: {field.answer()}")
    for place, (name, number) in enumerate(OF_LINK.items()):
        of_field = of_links[place :: len(OF_LINK)]
        latency = sum(field.latency for field in of_field)
        print(f"field {number:3} {latency:6} us  {name} of links: {[field.answer() for field in of_field]}")


if __name__ == "__main__":
    main()
