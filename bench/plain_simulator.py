"""A plain simulator of 1F1B in Python, for bench/simulate to compare with: python3 plain_simulator.py RANKS MICROBATCHES

What one writes to see a schedule: each rank's list of actions, when each action's inputs end, and a queue of the ranks whose next action
may have become possible. It times itself, in seconds of the CPU, and prints tasks and the seconds of the best of 3 runs. With PyTorch installed, its own simulator of the same order too,
which counts turns rather than time and adds sends and receives.
"""

import sys
import time
from collections import deque

RUNS = 3


def one_f_one_b(rank, ranks, microbatches):
    warm = min(ranks - 1 - rank, microbatches)
    order = [("F", m) for m in range(warm)]
    for m in range(microbatches - warm):
        order += [("F", warm + m), ("B", m)]
    return order + [("B", m) for m in range(microbatches - warm, microbatches)]


def simulate(ranks, microbatches, cost):
    orders = [one_f_one_b(rank, ranks, microbatches) for rank in range(ranks)]
    ends = {}
    position = [0] * ranks
    clock = [0] * ranks
    work = deque(range(ranks))
    while work:
        rank = work.popleft()
        order = orders[rank]
        while position[rank] < len(order):
            op, m = order[position[rank]]
            if op == "F":
                needs = ends.get((rank - 1, "F", m)) if rank > 0 else 0
            else:
                needs = ends.get((rank + 1, "B", m)) if rank + 1 < ranks else ends[rank, "F", m]
            if needs is None:
                break
            clock[rank] = max(clock[rank], needs) + cost[op]
            ends[rank, op, m] = clock[rank]
            position[rank] += 1
            neighbour = rank + 1 if op == "F" else rank - 1
            if 0 <= neighbour < ranks:
                work.append(neighbour)
    return max(clock), len(ends)


def pytorch(ranks, microbatches):
    from torch.distributed.pipelining.schedules import _Action, _ComputationType, _add_send_recv, _simulate_comms_compute

    kind = {"F": _ComputationType.FORWARD, "B": _ComputationType.FULL_BACKWARD}
    orders = {
        rank: [_Action(rank, kind[op], m) for op, m in one_f_one_b(rank, ranks, microbatches)] for rank in range(ranks)
    }
    to_rank = lambda stage: stage
    start = time.process_time()
    orders = _add_send_recv(orders, to_rank, ranks)
    _simulate_comms_compute(orders, to_rank, ranks)
    return time.process_time() - start


def timed(ranks, microbatches):
    start = time.process_time()
    makespan, tasks = simulate(ranks, microbatches, {"F": 1, "B": 2})
    return time.process_time() - start, makespan, tasks


def main():
    ranks, microbatches = int(sys.argv[1]), int(sys.argv[2])
    seconds, makespan, tasks = min(timed(ranks, microbatches) for _ in range(RUNS))
    print(f"python {tasks} {seconds:.6f} {makespan}")
    try:
        seconds = min(pytorch(ranks, microbatches) for _ in range(RUNS))
        print(f"pytorch {tasks} {seconds:.6f} 0")
    except ImportError:
        print("pytorch 0 0 0")


main()
