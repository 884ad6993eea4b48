"""I(x, z) when latents that say nothing are added, with and without a floor on densities: `python -m
benchmarks.noise_latents [FILE.svg]`.

Do & Tran (arXiv:1908.09961v4, Fig. 19) report that I(x, z) falls as latents are added, and have no answer why. Here
five latents say something of 1,000 images and the others are the prior for every image, so I(x, z) cannot change.
Prints a table; with a file name, draws it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from unbraid._internal import row_draws
from unbraid.codes import Codes
from unbraid.information.posteriors import Draws
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sepin import SEPIN

NUM_IMAGES, NUM_INFORMATIVE, MAX_LATENTS = 1_000, 5, 20
FLOOR = 1e-8
Row = tuple[int, float, float, float, float]


def measure(num_latents: int) -> Row:
    """Number of latents; I(x, z) without and with floor; WSEPIN without and with floor. The same draws each time, one
    an image.
    """
    mean = torch.zeros(NUM_IMAGES, num_latents, dtype=torch.float64)
    std = torch.ones_like(mean)
    mean[:, :NUM_INFORMATIVE] = row_draws.randn((NUM_IMAGES, NUM_INFORMATIVE), 0, "noise_latents/means")
    std[:, :NUM_INFORMATIVE] = 0.1
    noise = torch.cat(
        [row_draws.randn((NUM_IMAGES, 1), latent, "noise_latents/noise") for latent in range(num_latents)], dim=1
    )
    statistics = Statistics(Codes(mean, std), draws=Draws.of(mean + std * noise, torch.arange(NUM_IMAGES)))
    found = [
        metric(conditional="mc", density_floor=floor).of(statistics).value
        for metric in (Informativeness, SEPIN)
        for floor in (None, FLOOR)
    ]
    return num_latents, found[0], found[1], found[2], found[3]


def table(rows: Sequence[Row]) -> str:
    lines = ["| latents | I(x, z) | with a floor of 1e-8 | WSEPIN | with a floor of 1e-8 |", "|---|---|---|---|---|"]
    lines += [
        f"| {n} | {plain:.2f} | {floored:.2f} | {wsepin:.3f} | {cut:.3f} |" for n, plain, floored, wsepin, cut in rows
    ]
    return "\n".join(lines)


def svg(rows: Sequence[Row]) -> str:
    """A plain figure that reads on light and on dark pages."""
    left, top, width, height, highest = 60, 20, 440, 220, 8.0

    def x(latents: float) -> float:
        return left + width * (latents - NUM_INFORMATIVE) / (MAX_LATENTS - NUM_INFORMATIVE)

    def y(nats: float) -> float:
        return top + height * (1 - nats / highest)

    def line(column: int, style: str) -> str:
        points = " ".join(f"{x(row[0]):.1f},{y(row[column]):.1f}" for row in rows)
        return f'<polyline class="{style}" points="{points}"/>'

    ticks = [
        f'<text class="t" x="{x(n):.1f}" y="{top + height + 18}" text-anchor="middle">{n}</text>'
        for n in (5, 10, 15, 20)
    ]
    for nats in (0, 2, 4, 6, 8):
        ticks.append(f'<path class="g" d="M{left} {y(nats):.1f}H{left + width}"/>')
        ticks.append(f'<text class="t" x="{left - 8}" y="{y(nats) + 4:.1f}" text-anchor="end">{nats}</text>')
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 290" role="img"
 font-family="sans-serif" font-size="12">
<title>I(x, z) against the number of latents, with and without a floor on densities</title>
<style>
.t{{fill:#444}} .g{{stroke:#8884;fill:none}} .a,.b{{fill:none;stroke-width:2.5}} .a{{stroke:#2a78c2}}
.b{{stroke:#d1631b;stroke-dasharray:6 4}}
.ta{{fill:#2a78c2}} .tb{{fill:#d1631b}} @media (prefers-color-scheme: dark) {{.t{{fill:#bbb}}}}
</style>
{chr(10).join(ticks)}
{line(1, "a")}
{line(2, "b")}
<text class="ta" x="{x(12):.0f}" y="{y(7.2):.0f}">unbraid: in log space</text>
<text class="tb" x="{x(8):.0f}" y="{y(3.2):.0f}">densities floored at 1e-8</text>
<text class="t" x="{left + width / 2:.0f}" y="{top + height + 38}"
 text-anchor="middle">latents (5 informative, the others the prior)</text>
<text class="t" transform="translate(20 {top + height / 2:.0f}) rotate(-90)" text-anchor="middle">I(x, z) in nats</text>
</svg>
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="I(x, z) when latents that say nothing are added.")
    parser.add_argument("file", type=Path, nargs="?", help="an .svg to draw")
    file: Path | None = parser.parse_args(arguments).file
    rows = [measure(num_latents) for num_latents in range(NUM_INFORMATIVE, MAX_LATENTS + 1)]
    print(table(rows))
    if file is not None:
        file.write_text(svg(rows))


if __name__ == "__main__":
    main()
