"""The benchmark measures what it says."""

from benchmarks.busy_cores import busy_process, environment, steps_per_second


def test_a_policy_replaces_whatever_the_environment_says():
    given = {"PATH": "/bin", "OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "7", "OMP_NUM_THREADS": "2"}
    plain = {"PATH": "/bin", "OMP_NUM_THREADS": "2"}
    assert environment("OpenMP's default", given) == plain
    assert environment("asleep", given) == plain | {"OMP_WAIT_POLICY": "PASSIVE"}


def test_the_quickstart_takes_steps_beside_a_busy_process():
    with busy_process():
        assert steps_per_second(seconds=0.01) > 0
