"""Images per second through VGG-19 to fc7, from decoded tensors, compared with the convolution throughput.

The yardstick is measured in the same run on the same device: single 3 × 3 convolutions of VGG's own shapes; the best
of them is the device's convolution throughput. The share is the network's arithmetic rate divided by it. Needs only
torch and torchvision.

    python benchmarks/bench_extract.py                          # CUDA if available
    python benchmarks/bench_extract.py --device cpu --batch-sizes 2 --repeats 1
    python benchmarks/bench_extract.py --out benchmarks/results/extract.json
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # works from a checkout that is not installed

try:
    import torch
    import torchvision  # noqa: F401
    from torch.utils.flop_counter import FlopCounterMode
except ImportError:
    print("skipped: needs torch and torchvision, pip install torch torchvision")
    sys.exit(0)

from ancr.features.backbones import choose_device, import_torchvision, load_backbone
from ancr.features.extraction import Extractor, resolve_precision

# (channels in, channels out, side) of VGG's heavy layers
CONVOLUTIONS = [(64, 64, 224), (128, 128, 112), (256, 256, 56), (512, 512, 28), (512, 512, 14)]

LINE = (
    "batch {batch_size:5d}  search {cudnn_benchmark!s:5}  {images_per_s:10.1f} images/s  "
    "{tflops:8.3f} TFLOP/s  convolutions {convolution_tflops:8.3f} TFLOP/s  share {share:6.1%}"
)


def seconds(job, device, repeats):
    """Median wall time of a call, with the device idle before and after; the first calls warm up."""
    for _ in range(2):
        job()
    times = []
    for _ in range(repeats):
        _wait(device)
        start = time.perf_counter()
        job()
        _wait(device)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def _wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def convolution_rate(device, precision, batch_size, repeats):
    """Best arithmetic rate of a single convolution, and the rate for each shape, in TFLOP/s."""
    dtype = getattr(torch, precision)
    layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
    rates = {}
    for channels, filters, side in CONVOLUTIONS:
        layer = torch.nn.Conv2d(channels, filters, 3, padding=1, bias=False)
        layer = layer.to(device, dtype, memory_format=layout)
        images = torch.randn(batch_size, channels, side, side, device=device, dtype=dtype)
        images = images.to(memory_format=layout)
        with torch.inference_mode():
            time_s = seconds(lambda layer=layer, images=images: layer(images), device, repeats)
        operations = 2 * 9 * channels * filters * side * side * batch_size
        rates[f"{channels}x{side}x{side}"] = operations / time_s / 1e12
    return max(rates.values()), rates


def count_operations(extractor):
    """Floating-point operations per image, with multiplications and additions counted separately."""
    image = torch.zeros(1, 3, 224, 224)
    with FlopCounterMode(display=False) as counter:
        extractor.run(image)
    return counter.get_total_flops()


def measure(arguments):
    device = choose_device(arguments.device)
    precision = resolve_precision("auto", arguments.device)
    network = load_backbone("vgg19", "fc7", None, None, 0)
    extractor = Extractor(network, None, None, 1, device, precision)
    extractor.prepare()
    operations = count_operations(extractor)
    rows = []
    for algorithm_search in (False, True) if device.type == "cuda" else (False,):
        torch.backends.cudnn.benchmark = algorithm_search
        for batch_size in arguments.batch_sizes:
            images = torch.randn(batch_size, 3, 224, 224).to(device)
            time_s = seconds(lambda images=images: extractor.run(images), device, arguments.repeats)
            peak, shapes = convolution_rate(device, precision, batch_size, arguments.repeats)
            rate = operations * batch_size / time_s / 1e12
            row = {
                "batch_size": batch_size,
                "cudnn_benchmark": algorithm_search,
                "images_per_s": batch_size / time_s,
                "tflops": rate,
                "convolution_tflops": peak,
                "share": rate / peak,
                "convolutions": shapes,
            }
            rows.append(row)
            print(LINE.format(**row))
    return describe(device, precision, operations, rows)


def describe(device, precision, operations, rows):
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "CPU"
    return {
        "what": "VGG-19 to fc7 from decoded 224 x 224 tensors already on the device, random weights",
        "device": name,
        "precision": precision,
        "torch": torch.__version__,
        "torchvision": import_torchvision().__version__,
        "gflop_per_image": operations / 1e9,
        "best": max(rows, key=lambda row: row["images_per_s"]),
        "rows": rows,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-sizes", type=int, nargs="+")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    arguments = parser.parse_args()
    on_card = choose_device(arguments.device).type == "cuda"
    arguments.batch_sizes = arguments.batch_sizes or ([32, 128, 512] if on_card else [2])
    arguments.repeats = arguments.repeats or (7 if on_card else 3)
    result = measure(arguments)
    print(f"{result['device']}, {result['precision']}, {result['gflop_per_image']:.1f} GFLOP per image")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
