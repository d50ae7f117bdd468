/* Judging: each node of a placed net on its device, fed with the reference's inputs, against the oracle by its own
 * bound (NUMERICS section 3).  Node by node: no more is held than the values still to be read. */
#ifndef POLYHEAD_CONFORM_JUDGE_H
#define POLYHEAD_CONFORM_JUDGE_H

#include "conform/saved.h"
#include "oracle/tolerance.h"
#include "runtime/place.h"
#include "runtime/segment.h"

/* What is known of one node after it ran. */
typedef struct ph_judgement {
  uint32_t node;   /* of the net */
  bool pass;       /* bounds, guards and bits */
  bool same_bits;  /* two runs gave the same */
  bool overrun;    /* it wrote outside its outputs */
  bool refused;    /* the device takes no inputs that lie so (ph_judge.strided) */
  bool could_fail; /* some wrong answer of this shape (zeros, 1 % off, shifted by one) lies outside the bound */
  int64_t compared, bad;
  /* The worst output: its first bad element, else the one nearest to its bound. */
  uint32_t slot;
  int64_t element;                    /* -1: nothing compared */
  double expected, got, bound, ratio; /* ratio: the largest of the node */
} ph_judgement;

typedef struct ph_judge {
  const ph_net *net;
  const ph_placement *placements; /* with `saved`: only their stage types count */
  ph_program_cache *programs;
  /* The host tensors of INPUT and CONSTANT values, by net value; filled with what the reference computes on the way. */
  ph_tensor **values;
  const ph_saved *saved; /* the answers come from this file instead of from devices; NULL: they do not */
  bool strided;          /* inputs lie as ph_strided_layout() says, where the device takes them so */
  bool keep_outputs;     /* kept values stay in `values`; all others go when their last reader is done */
  /* Called after each node; `expected` has the node's outputs, `got` the device's by slot (NULL where not wanted).  May
   * be NULL. */
  ph_status (*after)(void *user, const ph_judgement *judgement, const ph_oracle_output *expected, ph_tensor *const *got,
                     ph_error *error);
  void *user;
} ph_judge;

/* Judges all nodes in order.  PH_OK also where nodes fail: that is in the judgements that `after` gets. */
PH_NODISCARD ph_status ph_judge_run(ph_judge *judge, ph_error *error);

#endif
