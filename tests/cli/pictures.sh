#!/usr/bin/env bash
# Heat maps and drawings of graphs: what is in the files, not only that there are some.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

words=$CONFIGS/five_words.yaml
expect 0 '' heatmap "$words" -d reference --tensor weights -o map.svg
python3 - <<'PY' || fail 'map.svg is not what it should be'
import xml.etree.ElementTree as tree
svg = '{http://www.w3.org/2000/svg}'
root = tree.parse('map.svg').getroot()
cells = [(float(r.find(svg + 'title').text.split(': ')[1]), r.get('fill'), r.find(svg + 'title').text)
         for r in root.iter(svg + 'rect') if r.find(svg + 'title') is not None]
assert len(cells) == 25, len(cells)
assert cells[0][2].startswith('小红, 小红: 0.96'), cells[0]
assert cells[1][2].startswith('小红, 很: '), cells[1]
light = lambda c: 0.2126 * int(c[1:3], 16) + 0.7152 * int(c[3:5], 16) + 0.0722 * int(c[5:7], 16)
shades = [light(fill) for _, fill, _ in sorted(cells)]
assert all(a >= b for a, b in zip(shades, shades[1:])), 'a larger value must never be lighter'
assert shades[0] - shades[-1] > 150, 'the range must be seen in grey, too'
texts = [t.text for t in root.iter(svg + 'text')]
for word in ['小红', '很', '喜欢', '吃', '苹果']:
    assert texts.count(word) == 2, word
assert '0.96' in texts and 'weights' in texts
PY

# All heads as a grid, one head, several values as rows.
expect 0 '' heatmap "$CONFIGS/cross_attention.yaml" -d reference --tensor weights -o grid.svg
python3 - <<'PY' || fail 'grid.svg is not what it should be'
text = open('grid.svg').read()
assert text.count('<title>') == 2 * 4 * 6, text.count('<title>')
assert 'head 0' in text and 'head 1' in text
PY
expect 0 '' heatmap "$CONFIGS/cross_attention.yaml" -d reference --tensor weights --head 1 -o one.svg
[ "$(grep -c '<title>' one.svg)" -eq 24 ] || fail 'one.svg has not the cells of one head'
expect 0 '' heatmap "$CONFIGS/hard_and_soft.yaml" -d reference --tensor soft --tensor hard -o rows.svg
grep -q 'hard' rows.svg || fail 'rows.svg does not name its rows'
expect 0 '' heatmap "$CONFIGS/hard_and_soft.yaml" -d reference --tensor '*[fr][td]' -o matched.svg

# Layers x heads of a model whose layers share their weights, which a page of YAML can say.
shared=$CONFIGS/models/shared_encoder.yaml
[ "$(wc -l <"$shared")" -lt 60 ] || fail 'shared_encoder.yaml has 60 lines or more'
expect 0 '' heatmap "$shared" -d reference --tensor 'layers.*.attention.weights' -o layers.svg
[ "$(grep -c 'layers\.[0-9]*\.attention\.weights' layers.svg)" -ge 12 ] || fail 'layers.svg does not name its layers'
expect 0 '' run "$shared" -d reference -o layers.10.attention.weights=ten.npy -o layers.11.attention.weights=eleven.npy
cmp -s ten.npy eleven.npy && fail 'two layers look at the same'

expect 2 'did you mean' heatmap "$words" -d reference --tensor weighs -o no.svg
expect 2 'no value is called like' heatmap "$words" -d reference --tensor 'z*' -o no.svg
expect 2 'ends neither in .svg nor in .png' heatmap "$words" -d reference --tensor weights -o no.jpg
expect 2 'there is no head 9' heatmap "$words" -d reference --tensor weights --head 9 -o no.svg
expect 2 'heatmap needs the value' heatmap "$words" -d reference -o no.svg
expect 2 'nowhere' heatmap "$words" -d reference --tensor weights -o nowhere/map.svg
[ -z "$(ls -A | grep '^no')" ] || fail 'a refused picture left a file'

# PNG and SVG need optional libraries; a build without them says so.
if "$POLYHEAD" heatmap "$words" -d reference --tensor weights -o map.png 2>"$err"; then
  [ "$(head -c 8 map.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail 'map.png is no PNG'
else
  grep -q 'no Pango and Cairo' "$err" || fail 'no PNG, and no reason'
fi
if "$POLYHEAD" graph "$words" --format svg >graph.svg 2>"$err"; then
  python3 -c "
import xml.etree.ElementTree as tree
texts = [t.text for t in tree.parse('graph.svg').getroot().iter('{http://www.w3.org/2000/svg}text')]
assert 'scores' in texts and 'f32 [5, 5]' in texts, texts" || fail 'graph.svg is not what it should be'
else
  grep -q 'no Graphviz' "$err" || fail 'no SVG, and no reason'
fi

# Edges carry shapes; a fused group is one box with its steps; a weight is drawn once.
expect 0 '' graph "$CONFIGS/multi_head_attention.yaml"
shows '^digraph "multi_head_attention" \{$'
shows 'peripheries=2.*label="y.mixed\\nattention\\nscores, weights, mixed"'
shows '^  v[0-9]+ -> n[0-9]+ \[label="f32 \['
expect 0 '' graph "$CONFIGS/multi_head_attention.yaml" --format mermaid
shows '^flowchart TD$'
shows '^  n[0-9]+\[\["y.mixed<br/>attention<br/>scores, weights, mixed"\]\]$'
expect 2 'takes dot, mermaid or svg' graph "$words" --format gif
expect 0 '' graph "$words" --plugin "$MUTANT" -d mutant,refuse=softmax --fallback reference
shows 'style="rounded,dashed", label="weights\\nsoftmax on reference:0"'
finish
