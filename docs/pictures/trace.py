"""A trace of `sar-single --trace` as text, and part of it as an SVG.

    python3 trace.py TRACE              where the time of the last epoch but one goes
    python3 trace.py TRACE PICTURE.svg  draws that epoch
"""

import json
import sys
from collections import defaultdict
from xml.sax.saxutils import escape

KINDS = ["turn", "operation", "disk", "wait"]
COLOURS = {"turn": "#4c78a8", "operation": "#54a24b", "disk": "#e45756", "wait": "#d0d0d0"}


def spans(events, epoch):
    """The spans of each thread of each rank in an epoch, in microseconds."""
    turns = [e for e in events if e["name"] == "turn" and e["args"]["epoch"] == epoch]
    begin = min(e["ts"] for e in turns)
    end = max(e["ts"] + e["dur"] for e in turns)
    threads = defaultdict(list)
    for e in events:
        if e["ph"] == "X" and e["ts"] + e["dur"] > begin and e["ts"] < end:
            threads[e["pid"], e["tid"]].append(e)
    for thread in threads.values():
        thread.sort(key=lambda e: (e["ts"], -e["dur"]))
    return begin, end, threads


def depths(thread):
    """Spans with the number of spans around each."""
    open_spans = []
    for e in thread:
        open_spans = [o for o in open_spans if o["ts"] + o["dur"] > e["ts"]]
        yield e, len(open_spans), open_spans[-1] if open_spans else None
        open_spans.append(e)


def table(begin, end, threads):
    """Seconds of all ranks by what they do, without what the spans inside do."""
    own = defaultdict(float)
    for (_, track), thread in threads.items():
        if track != 1:
            continue
        for e, _, around in depths(thread):
            inside = min(e["ts"] + e["dur"], end) - max(e["ts"], begin)
            own[e["cat"], e["name"]] += inside
            if around:
                own[around["cat"], around["name"]] -= inside
    ranks = len({rank for rank, _ in threads})
    total = (end - begin) * ranks
    print(f"epoch: {(end - begin) / 1e6:.2f} s, {ranks} workers")
    for kind in KINDS[1:]:
        of_kind = sum(time for (cat, _), time in own.items() if cat == kind)
        print(f"{kind:10} {100 * of_kind / total:5.1f} %")
    for (kind, name), time in sorted(own.items(), key=lambda item: -item[1])[:8]:
        print(f"  {100 * time / total:5.1f} %  {kind:10} {name}")


def picture(begin, end, threads):
    """One row per rank: its turns, and below them what its main thread does."""
    width, left, row = 860, 60, 40
    ranks = sorted({rank for rank, _ in threads})
    scale = (width - left - 10) / (end - begin)
    out = []
    for i, rank in enumerate(ranks):
        top = 10 + i * row
        out.append(f'<text x="6" y="{top + 19}">rank {rank}</text>')
        for track, y, height in [(0, 0, 10), (1, 12, 16)]:
            # Inner spans come later, so they cover those around them.
            for e in threads.get((rank, track), []):
                x = max(e["ts"] - begin, 0) * scale
                w = (min(e["ts"] + e["dur"], end) - max(e["ts"], begin)) * scale
                if w < 0.15:
                    continue
                label = f"{e['name']}, {e['dur'] / 1000:.1f} ms"
                colour = COLOURS[e["cat"]]
                out.append(
                    f'<rect x="{left + x:.1f}" y="{top + y}" width="{w:.1f}" height="{height}" fill="{colour}">'
                    f"<title>{escape(label)}</title></rect>"
                )
    bottom = 10 + len(ranks) * row
    x = left
    for kind, text in [("turn", "turns"), ("operation", "operations"), ("disk", "disk"), ("wait", "waiting")]:
        out.append(f'<rect x="{x}" y="{bottom}" width="12" height="12" fill="{COLOURS[kind]}"/>')
        out.append(f'<text x="{x + 17}" y="{bottom + 11}">{text}</text>')
        x += 110
    seconds = (end - begin) / 1e6
    out.append(f'<text x="{width - 10}" y="{bottom + 11}" text-anchor="end">{seconds:.2f} s</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 24}" role="img"'
        ' font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(out)
        + "\n</svg>\n"
    )


def main(arguments):
    with open(arguments[0], encoding="utf-8") as file:
        text = file.read()
    try:
        events = json.loads(text)
    except json.JSONDecodeError:
        # The launcher was killed: the end is missing.
        events = json.loads(text[: text.rindex(",\n")] + "]")
    epochs = sorted({e["args"]["epoch"] for e in events if e["name"] == "turn"})
    window = spans(events, epochs[-2] if len(epochs) > 1 else epochs[-1])
    if len(arguments) == 1:
        table(*window)
    else:
        with open(arguments[1], "w", encoding="utf-8") as file:
            file.write(picture(*window))


if __name__ == "__main__":
    main(sys.argv[1:])
