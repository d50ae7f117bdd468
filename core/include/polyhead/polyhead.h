/* polyhead/polyhead.h: the host API.  Loads a config, runs it on a device, says what it did.
 *
 * Functions that can fail return a ph_status and fill a caller-owned ph_error (NULL is fine).  The library never prints,
 * exits or aborts; what it has to say goes to the log callback.  There is no global state: a ph_context owns plugins and
 * devices, and sessions of one context may run in different threads; one session belongs to one thread at a time. */
#ifndef POLYHEAD_POLYHEAD_H
#define POLYHEAD_POLYHEAD_H

#include <polyhead/backend.h>
#include <polyhead/tensor.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

PH_API const char *ph_version(void); /* "0.1.0" */
PH_API const char *ph_status_name(ph_status status); /* "invalid" */
PH_API const char *ph_dtype_text(ph_dtype dtype);    /* "f32" */

/* ---- context: plugins and devices ------------------------------------------------------------------------------ */

typedef struct ph_context ph_context;

typedef struct ph_context_options {
  uint32_t struct_size;
  const char *const *plugins; /* --plugin FILE: loaded first; a failure of one is fatal */
  uint32_t plugin_count;
  void (*log)(void *user, ph_log_level level, const char *text); /* may be NULL; any thread */
  void *log_user;
  ph_log_level log_level;
  bool no_cache; /* backends keep nothing on disk, nor read it: host.cache_dir (backend.h) is NULL */
} ph_context_options;

/* Loads the plugins: those given, those in POLYHEAD_PLUGIN_PATH, those of the installation (beside the library; or, in a
 * build tree, the build's own).  The reference backend is always there. */
PH_API PH_NODISCARD ph_status ph_context_create(const ph_context_options *options, ph_context **out, ph_error *error);
PH_API void ph_context_destroy(ph_context *context); /* after its sessions; NULL is fine */

/* Every file that was looked at and every backend: loaded or why not. */
typedef struct ph_plugin_info {
  uint32_t struct_size;
  const char *path; /* "(built in)" for the reference */
  const char *name, *version, *vendor, *summary; /* NULL where not loaded */
  uint32_t abi_version;
  ph_status status; /* PH_OK: loaded */
  const char *reason; /* NULL where loaded */
} ph_plugin_info;
PH_API uint32_t ph_context_plugin_count(const ph_context *context);
PH_API const ph_plugin_info *ph_context_plugin(const ph_context *context, uint32_t index);
/* The folders searched, in order, with what became of each ("3 files", "not there", "others may write to it"). */
PH_API uint32_t ph_context_folder_count(const ph_context *context);
PH_API const char *ph_context_folder(const ph_context *context, uint32_t index, const char **out_note);

/* A device that can be named with -d. */
typedef struct ph_device_entry {
  const char *spec;    /* "pocl:0": what to write after -d */
  const char *backend; /* "pocl" */
  uint32_t index;      /* within its backend */
  ph_device_info info;
} ph_device_entry;
/* All devices of all backends, best first within a backend.  A backend that failed to look is no error; it is in
 * ph_context_backend_problem().  Entries live as long as the context. */
PH_API uint32_t ph_context_device_count(ph_context *context);
PH_API const ph_device_entry *ph_context_device(ph_context *context, uint32_t index);
PH_API uint32_t ph_context_problem_count(ph_context *context);
PH_API const char *ph_context_problem(ph_context *context, uint32_t index); /* "opencl: no OpenCL platform ..." */

/* What the device was measured to reach at most (backend.h), by a bench or a profile on this machine; all 0 where nothing
 * was measured yet. */
PH_API ph_peak ph_context_peak(ph_context *context, const ph_device_entry *device);

/* ---- model: a config file --------------------------------------------------------------------------------------- */

typedef struct ph_model ph_model;

typedef struct ph_model_options {
  uint32_t struct_size;
  const char *const *weight_files; /* --weights: replaces the file's own list */
  uint32_t weight_file_count;
  const char *const *dims; /* --dim: "seq=128" */
  uint32_t dim_count;
  bool random; /* --random: weights that no file has are made up */
  void (*warn)(void *user, const char *text); /* one whole sentence with its place; may be NULL */
  void *warn_user;
} ph_model_options;

/* PH_INVALID with "file:line:column: error: ..." for anything wrong in the file; PH_IO where it cannot be read. */
PH_API PH_NODISCARD ph_status ph_model_load(const char *path, const ph_model_options *options, ph_model **out,
                                            ph_error *error);
PH_API void ph_model_destroy(ph_model *model); /* after its sessions; NULL is fine */
PH_API const char *ph_model_name(const ph_model *model);
PH_API uint32_t ph_model_input_count(const ph_model *model);
PH_API const char *ph_model_input_name(const ph_model *model, uint32_t index);
/* The declared outputs: what the file calls them (an alias, or the path itself) and the values that they are. */
PH_API uint32_t ph_model_output_count(const ph_model *model);
PH_API const char *ph_model_output_alias(const ph_model *model, uint32_t index);
PH_API const char *ph_model_output_path(const ph_model *model, uint32_t index);
PH_API ph_dtype ph_model_input_dtype(const ph_model *model, uint32_t index);

/* The section `generate`: how tokens follow one another.  ids is [batch, length], past [batch]; logits is
 * [batch, length, tokens] or, for the last token alone, [batch, tokens].  Owned by the model. */
typedef struct ph_token {
  const char *text; /* to be found in the vocabulary; NULL: the id is given */
  int64_t id;
} ph_token;
typedef struct ph_generation {
  uint32_t ids, past; /* inputs, by index */
  uint32_t source;    /* an input; PH_NONE: there is none */
  uint32_t logits;    /* an output, by index */
  /* As they are written, and where they are: beside the config, else beside the weights, else NULL. */
  const char *vocabulary, *vocabulary_path;
  const char *source_vocabulary, *source_vocabulary_path; /* the former NULL: not given */
  ph_token start;                                         /* what comes before the first token */
  const ph_token *stops;
  uint32_t stop_count;
} ph_generation;
PH_API const ph_generation *ph_model_generation(const ph_model *model); /* NULL: the config has no such section */

/* ---- session: a model on a device --------------------------------------------------------------------------------- */

typedef struct ph_session ph_session;

typedef enum ph_fallback { PH_FALLBACK_NONE, PH_FALLBACK_REFERENCE } ph_fallback;

typedef struct ph_session_options {
  uint32_t struct_size;
  const char *device; /* as after -d; NULL or "auto": the first GPU, else PoCL, else the reference */
  ph_fallback fallback;
  const char *const *keep; /* paths beside the declared outputs whose values are wanted */
  uint32_t keep_count;
  bool times; /* measure each node where the device can */
  bool attention; /* keep the weights of every attention, for a report: nothing around them is fused */
  bool unfolded;  /* what hangs on constants alone runs on the device, too, in every run: for who judges the device */
} ph_session_options;

/* PH_UNAVAILABLE when there is no such device; the message lists those there are. */
PH_API PH_NODISCARD ph_status ph_session_create(ph_context *context, ph_model *model, const ph_session_options *options,
                                                ph_session **out, ph_error *error);
PH_API void ph_session_destroy(ph_session *session); /* NULL is fine */
/* The device that was chosen: its spec and what it is. */
PH_API const ph_device_entry *ph_session_device(const ph_session *session);

/* Gives an input (retained).  Checked against the declared type and rank now, against dims in run(). */
PH_API PH_NODISCARD ph_status ph_session_set_input(ph_session *session, const char *name, ph_tensor *tensor,
                                                   ph_error *error);

/* Everything short of running: dims, shapes, weights, who runs what.  With `report_refused`, nodes that the device refuses
 * are reported by ph_session_node() and do not fail the call; without, PH_UNSUPPORTED names the first one. */
PH_API PH_NODISCARD ph_status ph_session_prepare(ph_session *session, bool report_refused, ph_error *error);
/* Prepares where needed, checks ids, lengths and offsets, runs, and fetches the outputs.  A failure poisons the
 * session: PH_INVALID until reset. */
PH_API PH_NODISCARD ph_status ph_session_run(ph_session *session, ph_error *error);
PH_API PH_NODISCARD ph_status ph_session_reset(ph_session *session, ph_error *error);

/* After run(): the declared outputs in order, then the kept paths.  Owned by the session, valid until the next run. */
typedef struct ph_output {
  const char *alias, *path;
  ph_tensor *tensor; /* NULL before the first run */
  const char *const *const *labels; /* by axis; NULL where the axis has none */
} ph_output;
PH_API uint32_t ph_session_output_count(const ph_session *session);
PH_API const ph_output *ph_session_output(const ph_session *session, uint32_t index);

/* What becomes of a node in a run. */
typedef enum ph_node_fate {
  PH_NODE_IS_RUN,
  PH_NODE_IS_VIEW,  /* strides say what it moves: it costs nothing */
  PH_NODE_IS_FOLDED /* computed when the session was prepared */
} ph_node_fate;

/* After prepare(): one record per node, in order.  Owned by the session, valid until the next call. */
typedef struct ph_node_report {
  const char *path, *op;
  const char *const *members; /* a fused or merged node: its steps, NULL-terminated; else NULL */
  const char *output_type;    /* "f32 [1, 8, 64, 64]" */
  double flops;
  uint64_t bytes;             /* read and written */
  const char *device;         /* spec of the device that runs it; NULL where refused and there is no fallback */
  const char *variant;        /* of the backend; "view" and "folded" where it does not run; NULL where refused */
  const char *reason;         /* why the chosen device refused it, or NULL */
  const char *note;           /* why it was not fused, merged, folded or made a view, though it looks like it; or NULL */
  uint64_t start_ns, end_ns;  /* of the last run, where measured; else both 0 */
  ph_node_fate fate;
  const char *order, *shape_class; /* where the order of the backend's variants comes from and what it hangs on, as
                                      ph_support says; NULL where it says nothing */
  bool merged; /* its members are not steps but neighbours: it gives the values of all of them side by side */
} ph_node_report;
PH_API uint32_t ph_session_node_count(const ph_session *session);
PH_API const ph_node_report *ph_session_node(const ph_session *session, uint32_t index);

typedef struct ph_memory_report {
  uint64_t inputs, outputs, constants, arena, workspace; /* bytes */
} ph_memory_report;
PH_API ph_memory_report ph_session_memory(const ph_session *session);
/* What the session's device reaches at most: as an earlier run measured it, else, and `anew`, measured now, which takes a second; all 0
 * where it cannot be measured. */
PH_API ph_peak ph_session_peak(ph_session *session, bool anew);
/* The dims as bound: name and value. */
PH_API uint32_t ph_session_dim_count(const ph_session *session);
PH_API const char *ph_session_dim(const ph_session *session, uint32_t index, int64_t *out_value);

/* After prepare(): how many tokens may be fed one after the other before a cache or a table of positions that the input
 * `past` of `generate` steers is at its end; INT64_MAX where nothing ends. */
PH_API int64_t ph_session_capacity(const ph_session *session);

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

typedef struct ph_vocabulary ph_vocabulary;

/* A vocab.txt (a token a line), a JSON list of tokens, a tokens.json ({id, text, score}; the text's characters are bytes) or
 * a tokenizer.json of Hugging Face with a BPE or WordPiece model.  PH_UNSUPPORTED for a step that is not known, or that this
 * build lacks a library for. */
PH_API PH_NODISCARD ph_status ph_vocabulary_open(const char *path, ph_vocabulary **out, ph_error *error);
PH_API void ph_vocabulary_close(ph_vocabulary *vocabulary); /* NULL is fine */
PH_API int64_t ph_vocabulary_size(const ph_vocabulary *vocabulary); /* one more than the largest id */
PH_API int64_t ph_vocabulary_find(const ph_vocabulary *vocabulary, const char *token); /* as the file has it; -1: none */
/* What stands for a token in a table, to be freed with free(); NULL for an id without a token or out of memory. */
PH_API char *ph_vocabulary_token(const ph_vocabulary *vocabulary, int64_t id);
/* The ids of a text in UTF-8, to be freed with free().  `frame`: with what the vocabulary puts around a text, [CLS] and the
 * like.  PH_INVALID for text that has no token where none is for unknown text. */
PH_API PH_NODISCARD ph_status ph_vocabulary_encode(const ph_vocabulary *vocabulary, const char *text, bool frame,
                                                   int64_t **out_ids, size_t *out_count, ph_error *error);

/* Text from ids that come one by one.  put() gives what is certain by now, whole characters of UTF-8: the bytes of one that
 * is cut between tokens wait for the rest; end() gives what is left of them as U+FFFD.  The text, with a NUL behind it,
 * belongs to the decoder and lives until the next call.  Tokens that stand for no text, <s> and the like, give none. */
typedef struct ph_decoder ph_decoder;
PH_API PH_NODISCARD ph_status ph_decoder_create(const ph_vocabulary *vocabulary, ph_decoder **out, ph_error *error);
PH_API void ph_decoder_destroy(ph_decoder *decoder); /* before its vocabulary; NULL is fine */
PH_API PH_NODISCARD ph_status ph_decoder_put(ph_decoder *decoder, int64_t id, const char **out, size_t *out_size,
                                             ph_error *error);
PH_API PH_NODISCARD ph_status ph_decoder_end(ph_decoder *decoder, const char **out, size_t *out_size, ph_error *error);

/* ---- drawings ---------------------------------------------------------------------------------------------------- */

typedef enum ph_graph_format { PH_GRAPH_DOT, PH_GRAPH_MERMAID, PH_GRAPH_SVG } ph_graph_format;

/* Prepares the session where needed and draws its graph, refused nodes included; *out, with a NUL behind it, is freed with free().
 * PH_UNSUPPORTED for SVG in a build without Graphviz. */
PH_API PH_NODISCARD ph_status ph_session_draw(ph_session *session, ph_graph_format format, char **out, size_t *out_size,
                                              ph_error *error);

/* The last run as a page of HTML that needs nothing else: graph, nodes with their times, memory, attention maps (with
 * ph_session_options.attention) and outputs; *out, with a NUL behind it, is freed with free(). */
PH_API PH_NODISCARD ph_status ph_session_report(ph_session *session, char **out, size_t *out_size, ph_error *error);

typedef struct ph_heatmap_options {
  uint32_t struct_size;
  const char *title;                 /* NULL: none */
  const char *const *names;          /* by tensor, for the titles of maps; may be NULL */
  const char *const *row_labels;     /* by row of a map; NULL: none */
  const char *const *column_labels;
  int64_t batch; /* the sample that is drawn */
  int64_t head;  /* -1: all */
} ph_heatmap_options;

/* Draws [rows, columns], [heads, rows, columns] or [batch, heads, rows, columns] as coloured cells: one map, or the heads as a
 * grid; of several tensors of one size (layers) each is a row.  `format` is "svg" or "png"; *out is freed with free().  Labels and
 * values stand where the cells are large enough.  PH_UNSUPPORTED for "png" in a build without Pango and Cairo. */
PH_API PH_NODISCARD ph_status ph_heatmap_draw(const ph_tensor *const *tensors, uint32_t count, const char *format,
                                              const ph_heatmap_options *options, char **out, size_t *out_size,
                                              ph_error *error);

/* ---- compare: devices against the oracle -------------------------------------------------------------------------- */

/* One node on one device: fed with the reference's inputs, judged by its own bound (NUMERICS 3). */
typedef struct ph_compare_node {
  const char *path, *op, *output; /* the output that is worst: "y", "lse" */
  const char *variant;
  bool pass;      /* within its bound, inside its outputs, and with the same bits in a second run */
  bool same_bits; /* the second run gave the same bits */
  bool overrun;   /* it wrote outside its outputs */
  int64_t compared, bad;
  uint32_t rank;
  int64_t index[PH_MAX_RANK]; /* of the worst element (the first bad one where there is one) */
  double expected, got, bound, ratio;
  const char *inside; /* a fused node that failed: what running its steps one by one showed; else NULL */
} ph_compare_node;

typedef struct ph_compare_device {
  const char *spec; /* as given; or the file that was loaded */
  char name[128];
  bool pass;
  uint32_t node_count;
  const ph_compare_node *nodes;
  uint32_t first_failed; /* index in nodes; PH_NONE if all agree */
  /* Run as a whole: the output that is nearest to its limit, how far it is from the reference's, and how far the bounds of
   * all nodes together let it drift (0, and not judged, where a node differs).  INFINITY where the kind of a value (NaN, inf) differs. */
  bool end_to_end_pass;
  const char *end_to_end_output; /* NULL without outputs */
  double end_to_end, end_to_end_limit;
} ph_compare_device;

typedef struct ph_comparison ph_comparison;

typedef struct ph_compare_options {
  uint32_t struct_size;
  const char *const *devices;
  uint32_t device_count;
  const char *const *input_names; /* -i */
  ph_tensor *const *inputs;
  uint32_t input_count;
  const char *save; /* a .safetensors file for the answers of the one device; NULL: none */
  const char *const *loads; /* such files from elsewhere, judged as further devices */
  uint32_t load_count;
  bool equal_nan; /* a NaN in the outputs of `loads` passes where the right value is NaN, too (NUMERICS 3) */
} ph_compare_options;

/* PH_OK also when devices differ: ask ph_comparison_device().  Other statuses: it could not be compared. */
PH_API PH_NODISCARD ph_status ph_compare(ph_context *context, ph_model *model, const ph_compare_options *options,
                                         ph_comparison **out, ph_error *error);
PH_API void ph_comparison_destroy(ph_comparison *comparison); /* NULL is fine */
PH_API uint32_t ph_comparison_device_count(const ph_comparison *comparison);
PH_API const ph_compare_device *ph_comparison_device(const ph_comparison *comparison, uint32_t index);

/* ---- conform: is a backend right? ------------------------------------------------------------------------------------ */

typedef enum ph_case_state {
  PH_CASE_PASS = 0,
  PH_CASE_FAIL = 1,
  PH_CASE_UNSUPPORTED = 2,     /* the device refuses a node, and its required.yaml allows it to */
  PH_CASE_UNAVAILABLE = 3,     /* the machine lacks what the case needs */
  PH_CASE_EXPECTED_FAIL = 4,   /* it fails as the backend's required.yaml says */
  PH_CASE_UNEXPECTED_PASS = 5, /* it passes although required.yaml says that it fails */
  PH_CASE_UNTRUSTED = 6        /* it passed, but no wrong answer could have failed */
} ph_case_state;
enum { PH_CASE_STATE_COUNT = 7 };
PH_API const char *ph_case_state_name(ph_case_state state); /* "expected-fail" */

typedef struct ph_case_result {
  const char *name;
  ph_case_state state;
  char reason[768];      /* one sentence; "" for a pass */
  const char *command;   /* repeats the case */
  bool trusted;          /* a wrong answer would have been seen; false also where the right outputs are empty */
  bool empty;            /* the right outputs have no element, or only zeros: judged by shape, guard bands and poison */
  uint32_t nodes;        /* judged */
  int64_t compared, bad; /* elements */
  double ratio;          /* the largest |got - expected| / bound of its nodes */
  char worst_node[96], worst_op[32];
  char refused_op[32]; /* unsupported: the op that the device refuses */
  ph_status status;    /* of a call that failed, else PH_OK */
  double seconds;
} ph_case_result;

/* What a run says of one op. */
typedef struct ph_conform_op {
  const char *op;
  uint32_t cases, trusted; /* with a node of this op: judged; and among them, able to fail */
  double ratio;            /* the largest |got - expected| / bound */
  const char *worst_case;  /* where; NULL where nothing was compared */
} ph_conform_op;

typedef struct ph_conform_options {
  uint32_t struct_size;
  const char *device;        /* as after -d */
  const char *set;           /* tiny, smoke, ci or full; NULL: full where there is a filter, else ci */
  const char *const *suites; /* files and folders; none: those that come with the library */
  uint32_t suite_count;
  const char *filter; /* a case's name, or a pattern with * ? [ ]; NULL: all */
  uint64_t seed;
  const char *required; /* a file that says what the backend must support; NULL: required/BACKEND.yaml beside the suites */
  void (*after)(void *user, uint32_t done, uint32_t total, const ph_case_result *result); /* may be NULL */
  void *user;
} ph_conform_options;

typedef struct ph_conformance ph_conformance;

/* Reads the suites and picks the cases; no device is touched.  PH_INVALID for an unknown set or a mistake in a suite. */
PH_API PH_NODISCARD ph_status ph_conform_open(const ph_conform_options *options, ph_conformance **out, ph_error *error);
PH_API void ph_conform_close(ph_conformance *conformance); /* NULL is fine */
PH_API uint32_t ph_conform_case_count(const ph_conformance *conformance);
PH_API const char *ph_conform_case_name(const ph_conformance *conformance, uint32_t index);
/* The case as a config that `polyhead compare` takes, to be freed with free(). */
PH_API PH_NODISCARD ph_status ph_conform_show(ph_conformance *conformance, uint32_t index, char **out, ph_error *error);

/* Runs the cases, once.  PH_OK whatever becomes of them; PH_UNAVAILABLE where there is no such device. */
PH_API PH_NODISCARD ph_status ph_conform_run(ph_conformance *conformance, ph_context *context, ph_error *error);
/* After the run: owned by the conformance. */
PH_API const ph_device_entry *ph_conform_device(const ph_conformance *conformance);
PH_API const ph_case_result *ph_conform_result(const ph_conformance *conformance, uint32_t index);
PH_API uint32_t ph_conform_state_count(const ph_conformance *conformance, ph_case_state state);
PH_API uint32_t ph_conform_trusted_count(const ph_conformance *conformance);
/* False where a case is a fail, an unexpected pass or untrusted, and where no case passed or failed as expected. */
PH_API bool ph_conform_good(const ph_conformance *conformance);
PH_API uint32_t ph_conform_op_count(const ph_conformance *conformance);
PH_API const ph_conform_op *ph_conform_op_result(const ph_conformance *conformance, uint32_t index);
/* Pairs of options that can meet in a case of the chosen set, and how many did in cases that were judged. */
PH_API void ph_conform_pairs(const ph_conformance *conformance, uint32_t *out_possible, uint32_t *out_met);

/* ---- bench: how fast is a device?
 * -------------------------------------------------------------------------------------- */

/* Seconds of several runs. */
typedef struct ph_bench_times {
  double median, p10, p90, least;
  uint32_t count; /* 0: not measured */
} ph_bench_times;

/* One case on one device. */
typedef struct ph_bench_result {
  ph_status status;      /* PH_UNSUPPORTED and the like: it did not run */
  bool wrong;            /* an output had NaN in it, or other bits in a later run */
  char reason[512];      /* of either; else "" */
  double prepare;        /* seconds: shapes, passes, packed weights, compiled kernels, plans */
  double first;          /* seconds: the first run, with what a driver does when it first meets a kernel */
  ph_bench_times run;    /* as the caller sees it: inputs in, run, outputs out */
  ph_bench_times device; /* the device's own times of all nodes, added up; count 0 where it measures none */
  double cpu;            /* seconds of all threads of this process, for one run: the median */
  double flops;          /* of all nodes, by the op table */
  uint64_t bytes;        /* read and written by all nodes, by the op table */
  ph_memory_report memory;
  uint32_t nodes;
  char variant[64]; /* of the node with the most FLOPs */
} ph_bench_result;

typedef struct ph_bench_options {
  uint32_t struct_size;
  const char *const *files; /* configs and suites; none: the bench suites that come with the library */
  uint32_t file_count;
  const char *const *devices; /* as after -d; none: auto */
  uint32_t device_count;
  const char *set, *filter;       /* of suites, as in ph_conform_options */
  uint64_t seed;                  /* likewise */
  const ph_model_options *model;  /* of configs; may be NULL */
  const char *const *input_names; /* -i; for configs */
  ph_tensor *const *inputs;
  uint32_t input_count;
  uint32_t warmup; /* runs before those that count; PH_NONE: what is worth its time */
  uint32_t iters;  /* runs that count; PH_NONE: at least 5, for half a second, but few where they take long */
  void (*before)(void *user, uint32_t done, uint32_t total, const char *name); /* of each case; may be NULL */
  void *user;
} ph_bench_options;

typedef struct ph_bench ph_bench;

/* Picks the cases; no device is touched.  What the options point to lives as long as the bench. */
PH_API PH_NODISCARD ph_status ph_bench_open(const ph_bench_options *options, ph_bench **out, ph_error *error);
PH_API void ph_bench_close(ph_bench *bench); /* NULL is fine */
PH_API uint32_t ph_bench_case_count(const ph_bench *bench);
PH_API const char *ph_bench_case_name(const ph_bench *bench, uint32_t index);

/* Runs the cases one after the other, each on all devices in turn, round by round.  Before each run what it is to write
 * is filled with NaN, and after it the outputs must be those of the first run, bit by bit (where a state moves on: have
 * no NaN).  PH_OK whatever becomes of a case; PH_UNAVAILABLE where there is no such device. */
PH_API PH_NODISCARD ph_status ph_bench_run(ph_bench *bench, ph_context *context, ph_error *error);
PH_API uint32_t ph_bench_device_count(const ph_bench *bench);
PH_API const ph_device_entry *ph_bench_device(const ph_bench *bench, uint32_t device); /* after the run */
/* What the device reached at most, measured before the first case and after the last: the better of the two.  All 0 where it
 * measures nothing. */
PH_API ph_peak ph_bench_peak(const ph_bench *bench, uint32_t device);
PH_API const ph_bench_result *ph_bench_result_of(const ph_bench *bench, uint32_t index, uint32_t device);

/* The medians as SVG: a line for each device and family over the one number in which all cases differ, or else bars.  After the
 * run; *out, with a NUL behind it, is freed with free(). */
PH_API PH_NODISCARD ph_status ph_bench_draw(const ph_bench *bench, char **out, size_t *out_size, ph_error *error);

/* ---- tune: which variant is best here? ----------------------------------------------------------------------------------- */

/* What was found for one class of shapes. */
typedef struct ph_tune_row {
  const char *shape_class; /* "cpu linear f32 rows 1 weight 4M+" */
  const char *best, *usual; /* variants: the fastest, and the one that would be taken without tuning */
  double gain;              /* how much faster the best one is: 1.3 */
  uint32_t cases;           /* measured */
} ph_tune_row;

typedef struct ph_tune_options {
  uint32_t struct_size;
  const char *device; /* as after -d; NULL: auto */
  bool quick;         /* few cases, a few runs each */
  void (*before)(void *user, uint32_t done, uint32_t total, const char *name); /* of each case; may be NULL */
  void *user;
} ph_tune_options;

typedef struct ph_tuning ph_tuning;

/* Measures each variant that could run a case of the tune suite and writes the best order for each class of shapes to the cache folder,
 * where it is found whenever the device is opened.  After each case what was measured is kept: a run that was interrupted
 * goes on where it was.  PH_UNSUPPORTED where the backend has nothing to choose from; PH_IO where nothing can be kept. */
PH_API PH_NODISCARD ph_status ph_tune(ph_context *context, const ph_tune_options *options, ph_tuning **out,
                                      ph_error *error);
PH_API void ph_tuning_destroy(ph_tuning *tuning); /* before the context; NULL is fine */
PH_API const ph_device_entry *ph_tuning_device(const ph_tuning *tuning);
PH_API uint32_t ph_tuning_row_count(const ph_tuning *tuning);
PH_API const ph_tune_row *ph_tuning_row(const ph_tuning *tuning, uint32_t index);

/* ---- plugins check: is a plugin well made? --------------------------------------------------------------------------- */

typedef enum ph_check_state {
  PH_CHECK_PASS = 0,
  PH_CHECK_FAIL = 1,
  PH_CHECK_SKIP = 2 /* could not be tried */
} ph_check_state;

typedef struct ph_plugin_check_result {
  const char *name; /* "option"; the same in every version */
  ph_check_state state;
  const char *text; /* what was found: one sentence */
  const char *cure; /* of a failure; else NULL */
} ph_plugin_check_result;

/* Tries the plugin in `path` in every way that a host uses one: its file, its table, its life from open() to close(), a
 * smoke test.  Calls before() (may be NULL) and after() for each check in turn; texts are valid during the call.  The plugin
 * runs in this process and may end it: the command does this in a child. */
PH_API void ph_plugin_check(const char *path, void (*before)(void *user, const char *name),
                            void (*after)(void *user, const ph_plugin_check_result *result), void *user);

/* ---- the op table, for people and editors ---------------------------------------------------------------------------- */

PH_API uint32_t ph_op_table_count(void);
PH_API const char *ph_op_table_name(uint32_t index);
PH_API const char *ph_op_table_doc(uint32_t index); /* one line */
/* The reference entry of one op as JSON text (an object), to be freed with free(); NULL when unknown or out of memory.
 * Members: name, version, doc, source, roles, attributes, outputs, inner, composite. */
PH_API char *ph_op_table_json(const char *name);
/* The JSON Schema of the config language, to be freed with free(). */
PH_API char *ph_schema_json(void);

#ifdef __cplusplus
}
#endif
#endif
