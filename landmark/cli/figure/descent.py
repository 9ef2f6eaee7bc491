"""`landmark figure paths`, `rates`, `momentum`, `bias` and `updates`: how optimisers move."""

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Json

if TYPE_CHECKING:
    from landmark.probes.descent.path import DescentPath

Steps = Annotated[int, typer.Option(min=2, max=100_000, help="Steps to walk.")]
NAMES = "ravine, saddle, rosenbrock or beale"


def paths(
    surfaces: Annotated[
        list[str] | None, typer.Argument(help=f"{NAMES}; default: all.", metavar="[SURFACE]...")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="sgd, momentum, adam, …; default: all.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="For all methods; default: each one's best of a search.")
    ] = None,
    steps: Steps = 200,
    output: Annotated[Path, typer.Option(help="The figure; a .gif is a film.")] = Path("paths.png"),
    as_json: Json = False,
) -> None:
    """Draw the paths that optimisers take on surfaces."""
    from landmark.plots.descent.film import check_film
    from landmark.plots.descent.path import save_paths
    from landmark.probes.descent.path import METHODS, search_rates, walk
    from landmark.probes.descent.surface import SURFACES

    check_film(output)
    chosen = [SURFACES[name] for name in dict.fromkeys(surfaces or SURFACES)]
    methods = list(dict.fromkeys(method or METHODS))
    for name in methods:
        METHODS[name]  # says what is near
    walked = {
        surface.name: [
            walk(surface, name, [rate], steps)[0]
            if rate is not None
            else search_rates(surface, name, steps).right
            for name in methods
        ]
        for surface in chosen
    }
    save_paths(walked, output)
    if as_json:
        print_json(figure=str(output), steps=steps, paths=walked)
        return
    for name, found in walked.items():
        _print_table(name, {path.method: path for path in found})
    print(output)


def rates(
    method: Annotated[str, typer.Argument(help="sgd, momentum, adam, …")] = "sgd",
    surface: Annotated[str, typer.Option(help=f"{NAMES}.")] = "ravine",
    steps: Steps = 200,
    output: Annotated[Path, typer.Option(help="The figure; a .gif is a film.")] = Path("rates.png"),
    as_json: Json = False,
) -> None:
    """Draw one optimiser with a learning rate that is too small, right and too large."""
    from landmark.plots.descent.film import check_film
    from landmark.plots.descent.rate import save_rates
    from landmark.probes.descent.path import METHODS, search_rates
    from landmark.probes.descent.surface import SURFACES

    check_film(output)
    METHODS[method]  # says what is near
    ground = SURFACES[surface]
    searches = {name: search_rates(ground, name, steps) for name in METHODS}
    save_rates(ground, method, searches, output)
    search = searches[method]
    shown = {"too small": search.too_small, "right": search.right, "too large": search.too_large}
    if as_json:
        ends = {
            name: [[path.rate, None if path.diverged else path.end] for path in found.paths]
            for name, found in searches.items()
        }
        print_json(
            figure=str(output), surface=surface, method=method, steps=steps, shown=shown, ends=ends
        )
        return
    _print_table(f"{method}, {surface}", shown)
    print(output)


def momentum(
    rate: Annotated[
        float | None, typer.Option(help="Of both; default: almost too large for plain descent.")
    ] = None,
    steps: Steps = 60,
    output: Annotated[Path, typer.Option(help="The figure; a .gif is a film.")] = Path(
        "momentum.png"
    ),
    as_json: Json = False,
) -> None:
    """Draw gradient descent against momentum in a ravine, as lectures do."""
    from landmark.plots.descent.film import check_film
    from landmark.plots.descent.momentum import save_momentum
    from landmark.probes.descent.momentum import compare_momentum

    check_film(output)
    comparison = compare_momentum(rate, steps)
    save_momentum(comparison, output)
    if as_json:
        print_json(figure=str(output), steps=steps, **vars(comparison))
        return
    shown = {
        "gradient descent": comparison.plain,
        "momentum, the same rate": comparison.same_rate,
        "momentum, its own rate": comparison.own_rate,
    }
    _print_table("ravine", shown)
    print(output)


def bias(
    beta2: Annotated[
        list[float] | None, typer.Option(help="Decay of squares; default: 0.99, 0.999, 0.9999.")
    ] = None,
    rate: Annotated[
        list[float] | None, typer.Option(help="Learning rates; default: nine from 1e-4 to 1.")
    ] = None,
    steps: Annotated[int, typer.Option(min=2, max=100_000, help="Steps to train.")] = 300,
    seed: Annotated[int, typer.Option(help="Another seed, other first weights.")] = 1,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("bias.png"),
    as_json: Json = False,
) -> None:
    """Train a small network by Adam with and without bias correction, and draw what comes of it."""
    from landmark.plots.descent.bias import save_bias
    from landmark.plots.figure import check_figure
    from landmark.probes.descent.bias import BETA2S, RATES, train_with_and_without

    check_figure(output)
    beta2s, rates = dict.fromkeys(beta2 or BETA2S), sorted(set(rate or RATES))
    runs = train_with_and_without(list(beta2s), rates, steps, seed)
    save_bias(runs, output)
    if as_json:
        print_json(figure=str(output), steps=steps, seed=seed, runs=runs)
        return
    print(f"{'training loss in the end, by rate':<34}" + "".join(f"{r:>8.2g}" for r in rates))
    for decay in beta2s:
        for corrected, word in ((True, "corrected"), (False, "not corrected")):
            own = [r for r in runs if (r.beta2, r.corrected) == (decay, corrected)]
            name = f"beta2 {decay:g}, {word}"
            print(f"{name:<34}" + "".join(f"{run.final:>8.3f}" for run in own))
    print(output)


def updates(
    recipe: Annotated[
        str, typer.Argument(help="A recipe's name, a YAML file or a run: its training begins anew.")
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, as optimizer.name=sgd.")
    ] = None,
    steps: Annotated[int, typer.Option(min=2, max=100_000, help="First steps to watch.")] = 200,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("updates.png"),
    as_json: Json = False,
) -> None:
    """Draw how far each layer moves at each step of a real training."""
    from landmark.cli.progress import Progress
    from landmark.pipelines.inspection.update import watch_training
    from landmark.plots.descent.update import save_updates
    from landmark.plots.figure import check_figure

    check_figure(output)
    with Progress(steps) as progress:
        watched = watch_training(recipe, overrides or [], steps, progress.report)
    count = len(watched.learning_rates)
    save_updates(watched, f"{recipe}: {watched.method}, {count} steps", output)
    if as_json:
        print_json(figure=str(output), recipe=recipe, **vars(watched))
        return
    width = max(len("median of all steps"), *(len(one.layer) for one in watched.layers)) + 2
    print(f"{'median of all steps':<{width}}{'update / weights':>18}{'effective rate':>16}")
    for one in watched.layers:
        print(f"{one.layer:<{width}}{median(one.shares):>18.1e}{median(one.rates):>16.1e}")
    print(f"{'learning rate':<{width}}{'':>18}{median(watched.learning_rates):>16.1e}")
    print(output)


def _print_table(title: str, shown: "dict[str, DescentPath]") -> None:
    """Of each path its rate, when it arrived, how high it is in the end, and where."""
    width = max(len(title), *map(len, shown)) + 2
    print(f"{title:<{width}}{'rate':>10}{'arrived':>10}{'height':>10}   end")
    for name, path in shown.items():
        x, y = path.points[-1]
        arrived = "-" if path.arrived is None else f"step {path.arrived}"
        end = f"{path.heights[-1]:.1e}   ({x:.3f}, {y:.3f})"
        if path.diverged is not None:
            end = f"diverged at step {path.diverged}"
        print(f"{name:<{width}}{path.rate:>10.2g}{arrived:>10}   {end}")
