"""Lists ten items for three liked ones: recommend.py STREAM ID ID ID, with ids that are numbers."""

import sys

import elasticrec_device

with elasticrec_device.open(sys.argv[1]) as stream:
    for item in stream.recommend(history=map(int, sys.argv[2:]), k=10, why=True):
        print(item.id, item.score, *([] if item.why is None else ["because of", item.why]))
