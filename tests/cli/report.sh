#!/usr/bin/env bash
# The page that --report writes, opened in a browser; the trace.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

expect 0 '' run "$CONFIGS/five_words.yaml" -d reference --report page.html --trace trace.json -o y=y.npy
python3 - <<'PY' || fail 'page.html or trace.json is not what it should be'
import base64, json, re, struct
page = open('page.html', encoding='utf-8').read()
assert not re.search(r'(src|href)="(?!data:)[a-z]+:', page), 'the page must need nothing else'
maps = json.loads(re.search(r'id="maps">(.*?)</script>', page, re.S).group(1))
assert [m['name'] for m in maps] == ['weights'], maps
assert maps[0]['row_labels'] == ['小红', '很', '喜欢', '吃', '苹果']
values = struct.unpack('<25f', base64.b64decode(maps[0]['data']))
assert all(abs(sum(values[5 * i:5 * i + 5]) - 1) < 1e-5 for i in range(5)), values
assert page.count('<tr><td>') == 6, 'a row for each node'
events = json.load(open('trace.json'))['traceEvents']
tracks = {e['tid']: e['args']['name'] for e in events if e['ph'] == 'M' and e['name'] == 'thread_name'}
events = [e for e in events if e['ph'] != 'M']
assert tracks == {1: 'reference:0'} and all(e['pid'] == 1 and e['tid'] == 1 for e in events), tracks
assert [e['name'] for e in events] == ['q', 'k', 'v', 'scores', 'weights', 'y'], events
assert all(e['dur'] >= 0 and e['ph'] == 'X' for e in events)
assert all(a['ts'] + a['dur'] <= b['ts'] + 1e-6 for a, b in zip(events, events[1:])), 'nodes run one after the other'
PY

# Attention that is one node in the file is looked into, too; the answer stays the same.
expect 0 '' run "$CONFIGS/grouped_heads.yaml" -d reference --report fused.html -o y=steps.npy
expect 0 '' run "$CONFIGS/grouped_heads.yaml" -d reference -o y=fused.npy
grep -q '"name":"mixed.weights"' fused.html || fail 'fused.html has no attention map'

expect 2 'nowhere' run "$CONFIGS/five_words.yaml" -d reference --report nowhere/page.html -o y=none.npy
[ ! -e none.npy ] || fail 'a refused run left a file'

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo 'no browser: the page was read but not opened'
  finish
  exit
}
open() { # FILE WIDTH: prints the document as the browser has it after its script ran; console messages go to $err
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/browser" --window-size="$2,900" \
    --enable-logging=stderr --dump-dom "file://$PWD/$1" 2>"$err"
}
for width in 1200 360; do
  open page.html $width >dom.html || fail "the browser could not open the page at a width of $width"
  grep -E 'CONSOLE' "$err" && fail 'the console is not empty'
  grep -q '<option value="0">weights</option>' dom.html || fail 'the switch for layers is empty'
  grep -q '<option value="all">all</option><option value="0">0</option>' dom.html || fail 'the switch for heads is empty'
  grep -Eq '<canvas id="map" width="[0-9]{3}' dom.html || fail 'the map was not drawn'
done
finish
