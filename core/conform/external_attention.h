/* Attention in the cases made elsewhere: written out twice, through the fused op and in steps. */
#ifndef POLYHEAD_CONFORM_EXTERNAL_ATTENTION_H
#define POLYHEAD_CONFORM_EXTERNAL_ATTENTION_H

#include "conform/external_map.h"

/* What it works on: values of the config, [B, H, S, D]; NULL where there is none. */
typedef struct ph_map_attention {
  const char *q, *k, *v;
  const char *scale;      /* ", scale: 0.5", or "" */
  double softcap;         /* 0: none */
  const char *bias;       /* added to the scores, by an op of its own in the steps; a tensor */
  const char *factor;     /* 1, and 0 where a score is replaced by what `stand_in` has there; no fused op then */
  const char *stand_in;   /* added after that; a tensor */
  const char *mask_roles; /* ", mask: attn_mask, lengths: n": of mask and attention; "" without a mask */
  const char *mask_attrs; /* ", causal: true, align: top_left", or "" */
} ph_map_attention;

/* The values that came of it. */
typedef struct ph_map_attention_values {
  const char *fused; /* NULL: the rule has no place in the fused op */
  const char *scores, *capped, *masked, *weights, *mixed;
} ph_map_attention_values;

/* Writes the nodes; the weights are kept, so that the steps stay steps. */
ph_map_attention_values ph_map_attention_nodes(ph_external_map *map, const ph_map_attention *what);

/* Y from both, heads joined where `merge`; `dtype` is that of v. */
void ph_map_attention_answer(ph_external_map *map, const ph_map_attention_values *values,
                             const ph_external_tensor *stored, bool merge, ph_dtype dtype);

/* [B, H, S, D] of a tensor of rank 4, which is that, or of rank 3, [B, S, H * D].  `name` names the node. */
const char *ph_map_heads(ph_external_map *map, const char *value, uint32_t rank, const char *name, int64_t heads);
/* past ++ value along the lengths; the value alone where past is NULL. */
const char *ph_map_append(ph_external_map *map, const ph_external_tensor *past, const char *value, const char *name);

#endif
