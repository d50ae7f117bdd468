"""The conversation of peer.h, for peers in Python."""
import sys
import time


def converse(make):
    works = {}
    for line in sys.stdin:
        order, name, *words = line.split()
        try:
            if order == 'open':
                works[name] = make(words)
                print('ok', flush=True)
            elif order == 'run':
                works[name].run()
                times, begin = [], time.perf_counter()
                while len(times) < int(words[1]) or time.perf_counter() - begin < float(words[0]):
                    start = time.perf_counter()
                    works[name].run()
                    times.append(time.perf_counter() - start)
                print('times', *(f'{seconds:.9f}' for seconds in times), flush=True)
            elif order == 'ask':
                print('facts', works[name].facts(), flush=True)
            else:
                del works[name]
                print('ok', flush=True)
        except Exception as problem:  # a peer that cannot do a piece of work is left out of its row
            print('no', ' '.join(str(problem).split()), flush=True)
