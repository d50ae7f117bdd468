/* polyhead generate: tokens that follow one another, printed as they come. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "command.h"
#include "json.h"
#include "output.h"
#include "sample.h"
#include "setup.h"

typedef struct id_list {
  int64_t *items;
  size_t count, capacity;
} id_list;

typedef struct generator {
  const cli_options *options;
  const ph_generation *how;
  ph_model *model;
  ph_session *session;
  ph_vocabulary *vocabulary, *source_vocabulary; /* NULL where the file is not there */
  ph_decoder *decoder;                           /* NULL without a vocabulary */
  cli_sampling sampling;
  uint64_t most; /* tokens to generate */
  id_list source, prompt, ids;
  int64_t capacity;
  bool json;
  ph_text text; /* with --json, what would have been printed */
  size_t printed;
  const char *stopped; /* "stop token", "tokens", "capacity" */
  double prompt_seconds, seconds;
} generator;

/* ---- what the options say ---- */

static ph_status parse_real(const char *option, const char *text, double most, double *out, ph_error *error) {
  if (text == NULL) return PH_OK;
  char *end;
  *out = strtod(text, &end);
  if (end != text && *end == '\0' && *out >= 0 && *out <= most) return PH_OK;
  return ph_fail(error, PH_INVALID,
                 most == 1 ? "--%s takes a number from 0 to 1, not '%s'" : "--%s takes a number of 0 or more, not '%s'",
                 option, text);
}

static ph_status read_sampling(generator *g, ph_error *error) {
  const cli_options *options = g->options;
  bool draws = options->temperature != NULL || options->top_k != NULL || options->top_p != NULL;
  if (options->greedy && draws)
    return ph_fail(error, PH_INVALID, "--greedy draws nothing: leave --temperature, --top-k and --top-p away");
  g->sampling = (cli_sampling){.temperature = draws ? 1 : 0, .top_p = 1, .seed = options->seed};
  g->most = 256;
  PH_TRY(parse_real("temperature", options->temperature, HUGE_VAL, &g->sampling.temperature, error));
  PH_TRY(cli_count_parse("top-k", options->top_k, 1, &g->sampling.top_k, error));
  PH_TRY(parse_real("top-p", options->top_p, 1, &g->sampling.top_p, error));
  if (!isfinite(g->sampling.temperature))
    return ph_fail(error, PH_INVALID, "--temperature takes a finite number, not '%s'", options->temperature);
  return cli_count_parse("tokens", options->tokens, 1, &g->most, error);
}

static ph_status add_id(id_list *to, int64_t id, ph_error *error) {
  if (!ph_grow(&to->items, &to->capacity, to->count + 1, sizeof(*to->items))) return ph_fail_memory(error);
  to->items[to->count++] = id;
  return PH_OK;
}

static ph_status read_npy(const char *option, const char *path, id_list *to, ph_error *error) {
  ph_tensor_file *file = NULL;
  ph_tensor *tensor = NULL;
  ph_status status = ph_tensor_file_open(path, &file, error);
  if (status == PH_OK) status = ph_tensor_file_get(file, 0, &tensor, error);
  if (status == PH_OK && (tensor->dtype != PH_I64 && tensor->dtype != PH_I32))
    status =
        ph_fail(error, PH_INVALID, "--%s: '%s' holds %s, not integers", option, path, ph_dtype_text(tensor->dtype));
  for (size_t i = 0; status == PH_OK && i < tensor->count; i++)
    status = add_id(to, ph_read_integer(tensor->dtype, tensor->data, i), error);
  ph_tensor_release(tensor);
  ph_tensor_file_close(file);
  return status;
}

/* "1,2,3", blanks allowed, or a .npy file. */
static ph_status parse_ids(const char *option, const char *text, id_list *to, ph_error *error) {
  size_t length = strlen(text);
  if (length > 4 && strcmp(text + length - 4, ".npy") == 0) return read_npy(option, text, to, error);
  for (const char *at = text; *at != '\0';) {
    char *end;
    errno = 0;
    long long id = strtoll(at, &end, 10);
    if (end == at || errno != 0 || id < 0)
      return ph_fail(error, PH_INVALID, "--%s takes ids, 1,2,3, or a .npy file, not '%s'", option, text);
    PH_TRY(add_id(to, id, error));
    at = end + strspn(end, ", ");
    if (at == end && *end != '\0')
      return ph_fail(error, PH_INVALID, "--%s takes ids, 1,2,3, or a .npy file, not '%s'", option, text);
  }
  return PH_OK;
}

/* ---- vocabularies ---- */

static ph_status no_vocabulary(const generator *g, const char *name, const char *what, ph_error *error) {
  return ph_fail(error, PH_INVALID, "%s needs the vocabulary '%s', which lies neither beside %s nor beside the weights",
                 what, name, g->options->arguments.items[0]);
}

static ph_status open_vocabularies(generator *g, ph_error *error) {
  const ph_generation *how = g->how;
  if (how->vocabulary_path != NULL) {
    PH_TRY(ph_vocabulary_open(how->vocabulary_path, &g->vocabulary, error));
    PH_TRY(ph_decoder_create(g->vocabulary, &g->decoder, error));
  } else if (g->options->prompt == NULL) {
    char text[512];
    snprintf(text, sizeof(text),
             "the vocabulary '%s' lies neither beside the config nor beside the weights: ids are printed",
             how->vocabulary);
    cli_print_warning(text);
  }
  if (how->source_vocabulary_path != NULL)
    PH_TRY(ph_vocabulary_open(how->source_vocabulary_path, &g->source_vocabulary, error));
  return PH_OK;
}

static ph_status find_token(const generator *g, const ph_token *token, int64_t *out, ph_error *error) {
  *out = token->id;
  if (token->text == NULL) return PH_OK;
  if (g->vocabulary == NULL) return no_vocabulary(g, g->how->vocabulary, token->text, error);
  *out = ph_vocabulary_find(g->vocabulary, token->text);
  if (*out >= 0) return PH_OK;
  return ph_fail(error, PH_INVALID, "'%s', which `generate` names, is no token of %s", token->text,
                 g->how->vocabulary_path);
}

static ph_status encode(const ph_vocabulary *vocabulary, const char *option, const char *text, bool frame, id_list *to,
                        ph_error *error) {
  int64_t *ids;
  size_t count;
  ph_status status = ph_vocabulary_encode(vocabulary, text, frame, &ids, &count, error);
  if (status != PH_OK) {
    ph_error_prefix(error, "--%s: ", option);
    return status;
  }
  for (size_t i = 0; i < count && status == PH_OK; i++) status = add_id(to, ids[i], error);
  free(ids);
  return status;
}

static ph_status read_prompt(generator *g, ph_error *error) {
  const cli_options *options = g->options;
  if (options->prompt != NULL && options->prompt_ids != NULL)
    return ph_fail(error, PH_INVALID, "--prompt and --prompt-ids say the same thing twice; keep one");
  if (options->prompt_ids != NULL) {
    PH_TRY(parse_ids("prompt-ids", options->prompt_ids, &g->prompt, error));
    return g->prompt.count > 0 ? PH_OK : ph_fail(error, PH_INVALID, "--prompt-ids holds no ids");
  }
  int64_t start;
  PH_TRY(find_token(g, &g->how->start, &start, error));
  PH_TRY(add_id(&g->prompt, start, error));
  if (options->prompt == NULL) return PH_OK;
  if (g->vocabulary == NULL) return no_vocabulary(g, g->how->vocabulary, "--prompt", error);
  return encode(g->vocabulary, "prompt", options->prompt, false, &g->prompt, error);
}

static ph_status read_source(generator *g, ph_error *error) {
  const cli_options *options = g->options;
  bool text = options->source != NULL, ids = options->source_ids != NULL;
  if (g->how->source == PH_NONE) {
    if (!text && !ids) return PH_OK;
    return ph_fail(error, PH_INVALID, "%s has no source: its `generate` names no such input",
                   options->arguments.items[0]);
  }
  if (text == ids)
    return ph_fail(error, PH_INVALID,
                   text ? "--source and --source-ids say the same thing twice; keep one"
                        : "this model reads a source: give --source TEXT or --source-ids IDS");
  if (ids) {
    PH_TRY(parse_ids("source-ids", options->source_ids, &g->source, error));
  } else {
    const char *own = g->how->source_vocabulary, *name = own != NULL ? own : g->how->vocabulary;
    const ph_vocabulary *vocabulary = own != NULL ? g->source_vocabulary : g->vocabulary;
    if (vocabulary == NULL) return no_vocabulary(g, name, "--source", error);
    PH_TRY(encode(vocabulary, "source", options->source, true, &g->source, error));
  }
  return g->source.count > 0 ? PH_OK : ph_fail(error, PH_INVALID, "the source is empty");
}

/* ---- running ---- */

static ph_status give(const generator *g, uint32_t input, uint32_t rank, const int64_t *items, size_t count,
                      ph_error *error) {
  ph_tensor *tensor;
  const int64_t both[] = {1, (int64_t)count};
  ph_dtype dtype = ph_model_input_dtype(g->model, input);
  PH_TRY(ph_tensor_create(dtype, rank, rank == 2 ? both : both + 1, &tensor, error));
  for (size_t i = 0; i < count; i++) ph_write_integer(dtype, tensor->data, i, items[i]);
  ph_status status = ph_session_set_input(g->session, ph_model_input_name(g->model, input), tensor, error);
  ph_tensor_release(tensor);
  return status;
}

/* Tokens that follow the `past` ones which the caches hold. */
static ph_status feed(const generator *g, const int64_t *items, size_t count, size_t past, ph_error *error) {
  const int64_t before = (int64_t)past;
  PH_TRY(give(g, g->how->ids, 2, items, count, error));
  return give(g, g->how->past, 1, &before, 1, error);
}

/* Plans for one token and for the prompt, so that what is timed later is running alone. */
static ph_status prepare(generator *g, ph_error *error) {
  if (g->how->source != PH_NONE) PH_TRY(give(g, g->how->source, 2, g->source.items, g->source.count, error));
  PH_TRY(feed(g, g->prompt.items, 1, 0, error));
  PH_TRY(ph_session_prepare(g->session, false, error));
  g->capacity = ph_session_capacity(g->session);
  if ((int64_t)g->prompt.count > g->capacity)
    return ph_fail(error, PH_INVALID, "the prompt has %zu tokens, and the model takes no more than %" PRId64,
                   g->prompt.count, g->capacity);
  PH_TRY(feed(g, g->prompt.items, g->prompt.count, 0, error));
  return ph_session_prepare(g->session, false, error);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void put(generator *g, const char *text, size_t size) {
  if (g->json) {
    ph_text_put(&g->text, text, size);
  } else {
    fwrite(text, 1, size, stdout);
    fflush(stdout);
  }
  g->printed += size;
}

static ph_status show(generator *g, int64_t id, ph_error *error) {
  const char *text;
  size_t size;
  char number[32];
  if (g->decoder != NULL) {
    PH_TRY(ph_decoder_put(g->decoder, id, &text, &size, error));
  } else {
    if (g->json) return PH_OK; /* the ids are in the document */
    size = (size_t)snprintf(number, sizeof(number), "%s%" PRId64, g->printed > 0 ? " " : "", id);
    text = number;
  }
  put(g, text, size);
  return PH_OK;
}

static ph_status show_end(generator *g, ph_error *error) {
  const char *text;
  size_t size;
  if (g->decoder != NULL) {
    PH_TRY(ph_decoder_end(g->decoder, &text, &size, error));
    put(g, text, size);
  }
  if (!g->json) put(g, "\n", 1);
  return g->text.failed ? ph_fail_memory(error) : PH_OK;
}

static ph_status is_stop(const generator *g, int64_t id, bool *out, ph_error *error) {
  *out = false;
  for (uint32_t i = 0; i < g->how->stop_count && !*out; i++) {
    int64_t stop;
    if (g->vocabulary == NULL && g->how->stops[i].text != NULL) continue; /* only ids can be known */
    PH_TRY(find_token(g, &g->how->stops[i], &stop, error));
    *out = stop == id;
  }
  return PH_OK;
}

/* As text, without the token that begins it. */
static ph_status show_prompt(generator *g, ph_error *error) {
  int64_t start = -1;
  if (g->decoder != NULL) PH_TRY(find_token(g, &g->how->start, &start, error));
  for (size_t i = g->prompt.items[0] == start; i < g->prompt.count; i++) PH_TRY(show(g, g->prompt.items[i], error));
  return PH_OK;
}

/* The prompt in one run, then token by token. */
static ph_status generate(generator *g, ph_error *error) {
  double start = now();
  size_t past = g->prompt.count;
  PH_TRY(ph_session_run(g->session, error));
  g->prompt_seconds = now() - start;
  for (;;) {
    int64_t id;
    bool stop;
    PH_TRY(cli_sample(&g->sampling, ph_session_output(g->session, g->how->logits)->tensor, g->ids.count, &id, error));
    PH_TRY(add_id(&g->ids, id, error));
    PH_TRY(is_stop(g, id, &stop, error));
    g->seconds = now() - start - g->prompt_seconds;
    g->stopped = stop                           ? "stop token"
                 : g->ids.count >= g->most      ? "tokens"
                 : (int64_t)past >= g->capacity ? "capacity"
                                                : NULL;
    if (!stop) PH_TRY(show(g, id, error));
    if (g->stopped != NULL) return PH_OK;
    PH_TRY(feed(g, &id, 1, past++, error));
    PH_TRY(ph_session_run(g->session, error));
  }
}

/* ---- the report ---- */

static double per_second(const generator *g) {
  size_t steps = g->ids.count - 1; /* the first came with the prompt */
  return steps > 0 && g->seconds > 0 ? (double)steps / g->seconds : 0;
}

static void print_report(const generator *g) {
  if (strcmp(g->stopped, "capacity") == 0)
    fprintf(stderr, "polyhead: stopped: the model takes no more than %" PRId64 " tokens\n", g->capacity);
  fprintf(stderr, "prompt: %zu token%s in %.3f s; then %zu token%s in %.3f s", g->prompt.count,
          g->prompt.count == 1 ? "" : "s", g->prompt_seconds, g->ids.count, g->ids.count == 1 ? "" : "s", g->seconds);
  if (per_second(g) > 0) fprintf(stderr, ", %.1f tokens/s", per_second(g));
  fprintf(stderr, "\n");
}

static json_t *ids_json(const id_list *ids) {
  json_t *array = json_array();
  for (size_t i = 0; i < ids->count; i++) array = cli_json_append(array, json_integer(ids->items[i]));
  return array;
}

static ph_status fill_document(const generator *g, json_t *json, ph_error *error) {
  PH_TRY(cli_json_set(json, "model", cli_json_text(ph_model_name(g->model)), error));
  PH_TRY(cli_json_set(json, "device", cli_json_device(ph_session_device(g->session)), error));
  if (g->how->source != PH_NONE) PH_TRY(cli_json_set(json, "source_ids", ids_json(&g->source), error));
  PH_TRY(cli_json_set(json, "prompt_ids", ids_json(&g->prompt), error));
  PH_TRY(cli_json_set(json, "ids", ids_json(&g->ids), error));
  json_t *text =
      g->decoder == NULL ? json_null() : json_stringn_nocheck(g->printed > 0 ? g->text.data : "", g->text.length);
  PH_TRY(cli_json_set(json, "text", text, error));
  PH_TRY(cli_json_set(json, "stopped", json_string(g->stopped), error));
  PH_TRY(cli_json_set(json, "prompt_seconds", json_real(g->prompt_seconds), error));
  PH_TRY(cli_json_set(json, "seconds", json_real(g->seconds), error));
  return cli_json_set(json, "tokens_per_second", json_real(per_second(g)), error);
}

static ph_status run_all(generator *g, cli_result *result, ph_context **context, ph_error *error) {
  const cli_inputs no_inputs = {0};
  PH_TRY(read_sampling(g, error));
  PH_TRY(cli_model_open(g->options, &g->model, error));
  g->how = ph_model_generation(g->model);
  if (g->how == NULL)
    return ph_fail(error, PH_INVALID, "%s has no section `generate`, which says how its tokens follow one another",
                   g->options->arguments.items[0]);
  PH_TRY(open_vocabularies(g, error));
  PH_TRY(read_prompt(g, error));
  PH_TRY(read_source(g, error));
  PH_TRY(cli_context_open(g->options, context, error));
  PH_TRY(cli_session_open(g->options, *context, g->model, &no_inputs, NULL, 0, &g->session, error));
  PH_TRY(prepare(g, error));
  PH_TRY(show_prompt(g, error));
  PH_TRY(generate(g, error));
  PH_TRY(show_end(g, error));
  cli_tell_moved(g->session);
  if (result->json != NULL) return fill_document(g, result->json, error);
  print_report(g);
  return PH_OK;
}

static ph_status run(const cli_options *options, cli_result *result, ph_error *error) {
  generator g = {.options = options, .json = result->json != NULL};
  ph_context *context = NULL;
  ph_status status = run_all(&g, result, &context, error);
  ph_session_destroy(g.session);
  ph_context_destroy(context);
  ph_model_destroy(g.model);
  ph_decoder_destroy(g.decoder);
  ph_vocabulary_close(g.vocabulary);
  ph_vocabulary_close(g.source_vocabulary);
  ph_text_free(&g.text);
  free(g.source.items);
  free(g.prompt.items);
  free(g.ids.items);
  return status;
}

const cli_command cli_generate = {
    .name = "generate",
    .arguments = "CONFIG",
    .least = 1,
    .most = 1,
    .options = CLI_DEVICE | CLI_WEIGHTS | CLI_DIM | CLI_RANDOM | CLI_FALLBACK | CLI_PROMPT | CLI_PROMPT_IDS |
               CLI_SOURCE | CLI_SOURCE_IDS | CLI_TOKENS | CLI_GREEDY | CLI_TEMPERATURE | CLI_TOP_K | CLI_TOP_P |
               CLI_SEED | CLI_COMMON,
    .summary = "let a model go on with a text, token by token",
    .text =
        "Feeds the prompt to CONFIG in one run, then each token that it chose, and prints the text, prompt included, "
        "as\n"
        "it comes.  The section `generate` of CONFIG says which inputs, output and vocabularies those are.  Ends at a\n"
        "stop token, after --tokens, or where caches and positions end; then says how fast it was on standard error.",
    .run = run,
};
