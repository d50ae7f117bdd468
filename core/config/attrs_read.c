/* Reading the attributes of an op node, typed by the op's row. */
#include <string.h>

#include "config/loader.h"

static ph_status read_expr(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const char *what,
                           const ph_expr **out) {
  PH_TRY(ph_read_expr(loader, frame, node, what, out));
  const char *name = ph_expr_plain_name(*out);
  if (name != NULL) loader->dim_notes[ph_names_find(&loader->dims, name)].axis = true;
  return PH_OK;
}

/* One expression, a list of them, or a mapping from names to them. */
static ph_status read_exprs(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const ph_op_attr *row,
                            ph_model_attr *out) {
  bool map = row->type == PH_ATTR_TYPE_EXTENTS;
  bool list = row->type == PH_ATTR_TYPE_AXES || row->type == PH_ATTR_TYPE_INTEGERS;
  if (map) PH_TRY(ph_read_map(loader, node, row->name));
  if (list) PH_TRY(ph_read_list(loader, node, row->name));
  out->count = map || list ? node->count : 1;
  if (map && node->count == 0) return ph_fail_at(loader->error, node->place, "%s names no part", row->name);
  const ph_expr **exprs = ph_arena_array(loader->arena, out->count, sizeof(*exprs));
  const char **names = map ? ph_arena_array(loader->arena, out->count, sizeof(*names)) : NULL;
  if (exprs == NULL || (map && names == NULL)) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < out->count; i++) {
    const ph_yaml *at = map ? node->pairs[i].value : list ? node->items[i] : node;
    PH_TRY(read_expr(loader, frame, at, row->name, &exprs[i]));
    if (!map) continue;
    names[i] = node->pairs[i].key;
    if (!ph_is_name(names[i]))
      return ph_fail_at(loader->error, node->pairs[i].place,
                        "'%s' is no name: a part takes letters, digits and '_', no digit first", names[i]);
  }
  out->exprs = exprs;
  out->names = names;
  return PH_OK;
}

static ph_status read_choice(ph_loader *loader, const ph_yaml *node, const ph_op_attr *row, const char **out) {
  PH_TRY(ph_read_text(loader, node, row->name, out));
  uint32_t count = 0;
  const char *all = "";
  for (; row->choices[count] != NULL; count++) {
    if (strcmp(*out, row->choices[count]) == 0) return PH_OK;
    all = ph_arena_text(&loader->scratch, "%s%s%s", all, count > 0 ? " or " : "", row->choices[count]);
    if (all == NULL) return ph_fail_memory(loader->error);
  }
  return ph_fail_at(loader->error, node->place, "%s is %s, not '%s'%s", row->name, all, *out,
                    ph_loader_hint(loader, *out, row->choices, count));
}

static ph_status read_attr(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, const ph_op_attr *row,
                           ph_model_attr *out) {
  ph_dtype dtype;
  out->count = 1;
  switch (row->type) {
  case PH_ATTR_TYPE_BOOL:
    return ph_read_boolean(loader, node, row->name, &out->boolean);
  case PH_ATTR_TYPE_CHOICE:
    return read_choice(loader, node, row, &out->text);
  case PH_ATTR_TYPE_DTYPE:
    PH_TRY(ph_read_dtype(loader, node, &dtype));
    out->text = node->text;
    return PH_OK;
  default:
    return read_exprs(loader, frame, node, row, out);
  }
}

ph_status ph_attrs_read(ph_loader *loader, const ph_frame *frame, const ph_yaml *node, ph_model_node *to) {
  const ph_op *op = to->op;
  ph_model_attr *attrs = ph_arena_array(loader->arena, op->attr_count, sizeof(*attrs));
  if (attrs == NULL) return ph_fail_memory(loader->error);
  for (uint32_t i = 0; i < op->attr_count; i++) {
    const ph_op_attr *row = &op->attrs[i];
    const ph_yaml_pair *pair = ph_yaml_find(node, row->name);
    bool given = pair != NULL && !(row->may_be_absent && ph_yaml_is_null(pair->value));
    if (!given && !row->may_be_absent && row->initial == NULL)
      return ph_fail_at(loader->error, node->place, "node '%s': op %s needs '%s', %s", to->path, op->name, row->name,
                        row->doc != NULL ? row->doc : "which has no default");
    if (!given) continue;
    ph_model_attr *attr = &attrs[to->attr_count++];
    attr->row = i;
    attr->place = pair->place;
    PH_TRY(read_attr(loader, frame, pair->value, row, attr));
  }
  to->attrs = attrs;
  return PH_OK;
}
