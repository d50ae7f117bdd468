/* A suite file: families of small configs, written as templates with what varies in them (docs/conformance.md). */
#ifndef POLYHEAD_CONFORM_SUITE_H
#define POLYHEAD_CONFORM_SUITE_H

#include "conform/case.h"
#include "conform/pairs.h"
#include "conform/tree.h"

enum { PH_LEVEL_SMOKE, PH_LEVEL_CI, PH_LEVEL_FULL, PH_LEVEL_COUNT };

/* One value of what varies. */
typedef struct ph_choice {
  const char *text;       /* in the case's name */
  const ph_yaml **values; /* by name of the factor; NULL for an option */
  const ph_yaml *patch;   /* an option: what it puts on top; NULL: nothing, or no option */
  uint32_t level;
  bool tiny;
} ph_choice;

/* An entry of `vary`: one name, or several that vary together. */
typedef struct ph_vary {
  const char **names;
  uint32_t name_count;
  ph_choice *choices;
  uint32_t count, capacity;
  bool costly;    /* a change of it makes a device compile: few combinations are used again and again */
  bool is_option; /* its values are options of the suite */
} ph_vary;

/* Values that exclude each other: excluded where every factor that is named has one of the values. */
typedef struct ph_rule {
  uint32_t *factors; /* by term */
  bool **excluded;   /* by term and choice */
  uint32_t count;
} ph_rule;

typedef struct ph_family {
  const char *name, *op;
  ph_place place;
  uint32_t level;
  bool tiny, pairs, strided, zeros; /* zeros: only zeros are right; an option may say so, too */
  const ph_yaml *body; /* templates and the family's own dims, let, inputs, weights, before, node, graph, outputs */
  ph_vary *varies;
  uint32_t vary_count;
  ph_rule *rules;
  uint32_t rule_count;
  const ph_yaml *rebind; /* a list of {dim: value}; NULL: none */
} ph_family;

typedef struct ph_suite_case {
  const ph_family *family;
  const uint32_t *choices; /* by entry of `vary` */
  bool zeros;
} ph_suite_case;

typedef struct ph_suite {
  ph_arena arena;
  const char *file;
  const ph_yaml *options; /* {GROUP: {NAME: PATCH}}; NULL: none */
  const ph_yaml *templates;
  ph_family *families;
  uint32_t family_count;
  ph_suite_case *cases; /* beside the ph_case of the same index */
  uint32_t case_count, case_capacity;
  ph_case *listed;
  uint32_t listed_count, listed_capacity;
  ph_case_pair *pairs;
  uint32_t pair_count, pair_capacity;
} ph_suite;

/* Reads the file and lists its cases.  PH_INVALID with "file:line:column: error: ..." . */
PH_NODISCARD ph_status ph_suite_read(const char *path, ph_suite **out, ph_error *error);
void ph_suite_destroy(ph_suite *suite);

/* suite_cases.c: the cases of a family that was read, and the pairs of options that can meet in them. */
PH_NODISCARD ph_status ph_suite_list_family(ph_suite *suite, ph_family *family, ph_error *error);

/* suite_config.c: adds the config of a case (CONFIG.md), its random numbers keyed by the case's name and the seed. */
PH_NODISCARD ph_status ph_suite_config(const ph_suite *suite, uint32_t index, uint64_t seed, ph_text *out,
                                       ph_error *error);
/* The dims of run number `step` of `rebind`, as --dim takes them; *out_count is 0 beyond the last. */
PH_NODISCARD ph_status ph_suite_rebind(const ph_suite *suite, uint32_t index, uint32_t step, ph_arena *arena,
                                       const char *const **out, uint32_t *out_count, ph_error *error);

/* suite_source.c: the suite as a source of cases. */
PH_NODISCARD ph_status ph_suite_open(const char *path, ph_case_source **out, ph_error *error);

#endif
