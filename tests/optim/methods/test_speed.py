"""The benchmark of optimisers: what it times are the same steps."""

import time

import pytest
import torch

from benchmarks import optimizer_speed as benchmark


@pytest.mark.parametrize("layout", ["few", "many"])
@pytest.mark.parametrize("method", benchmark.METHODS)
def test_all_forms_that_are_timed_step_alike(method, layout):
    names = list(benchmark.forms(method, benchmark.tensors(8000, layout)))
    assert names[0] == "ours"
    assert {"foreach", "plain", "written out"} < set(names)
    ends = []
    for name in names:
        parameters = benchmark.tensors(8000, layout)  # the same for each
        optimizer = benchmark.forms(method, parameters)[name]
        gradients = [parameter.grad.clone() for parameter in parameters]
        for _ in range(5):
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad.copy_(gradient)  # torch's foreach adds Nesterov's term into it
            optimizer.step()
        ends.append(torch.cat([parameter.detach() for parameter in parameters]))
    for end in ends[1:]:
        torch.testing.assert_close(end, ends[0], rtol=1e-5, atol=1e-6)
    assert not torch.equal(ends[0], torch.cat(benchmark.tensors(8000, layout)))


def test_every_form_has_a_time_and_a_place_in_the_table():
    times = benchmark.measure("adam", 10_000, "many", 0.01, time.perf_counter)
    assert set(times) == {"ours", "fused", "foreach", "plain", "written out"}
    assert all(taken > 0 for taken in times.values())
    row = benchmark.row("adam", 10_000, "many", {**dict.fromkeys(times, 0.002), "ours": 0.001})
    assert row.split() == ["adam", "1e+04", "many", "1.000", "2.00", "2.00", "2.00", "2.00"]
