/* Writing values to files. */
#include "saves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

static bool ends_in(const char *text, const char *ending) {
  size_t length = strlen(text), tail = strlen(ending);
  return length > tail && strcmp(text + length - tail, ending) == 0;
}

/* Makes a file beside the one that is wanted, and removes it again: whatever forbids it is found before the run. */
static ph_status check_writable(const char *file, ph_error *error) {
  ph_file_writer *writer = NULL;
  PH_TRY(ph_file_writer_create(file, &writer, error));
  ph_file_writer_abandon(writer);
  return PH_OK;
}

/* The file without links and dots in its path, whether it is there yet or only its folder. */
static ph_status resolve(const char *file, char **out, ph_error *error) {
  *out = realpath(file, NULL);
  if (*out != NULL) return PH_OK;
  const char *slash = strrchr(file, '/');
  const char *name = slash != NULL ? slash + 1 : file;
  char *folder = slash == NULL ? strdup(".") : strndup(file, slash == file ? 1 : (size_t)(slash - file));
  if (folder == NULL) return ph_fail_memory(error);
  char *real = realpath(folder, NULL);
  ph_status status = PH_OK;
  ph_text text = {0};
  if (real == NULL) {
    status = ph_fail(error, PH_IO, "cannot write '%s': folder '%s': %s", file, folder, strerror(errno));
  } else {
    ph_text_add(&text, "%s/%s", real, name);
    if (text.failed)
      status = ph_fail_memory(error);
    else
      *out = text.data;
  }
  free(real);
  free(folder);
  return status;
}

static ph_status check_one(const cli_saves *saves, uint32_t index, ph_error *error) {
  const char *name = saves->pairs[index].name, *file = saves->pairs[index].value;
  bool npy = ends_in(file, ".npy");
  if (!npy && !ends_in(file, ".npz") && !ends_in(file, ".safetensors"))
    return ph_fail(error, PH_INVALID, "-o %s: '%s' must end in .npy, .npz or .safetensors", name, file);
  for (uint32_t i = 0; i < index; i++) {
    if (strcmp(saves->places[i], saves->places[index]) != 0) continue;
    if (npy)
      return ph_fail(error, PH_INVALID, "-o: '%s' and '%s' both go to '%s', but a .npy holds one; use .npz",
                     saves->pairs[i].name, name, file);
    if (strcmp(saves->pairs[i].name, name) == 0)
      return ph_fail(error, PH_INVALID, "-o %s=%s is given twice; keep one", name, file);
  }
  return check_writable(file, error);
}

ph_status cli_saves_open(const cli_options *options, cli_saves *out, ph_error *error) {
  *out = (cli_saves){.count = options->outputs.count};
  PH_TRY(cli_pairs_parse(&options->outputs, "-o takes PATH=FILE", &out->pairs, error));
  out->places = ph_new_array(out->count, sizeof(char *));
  if (out->places == NULL) return ph_fail_memory(error);
  for (uint32_t i = 0; i < out->count; i++) {
    PH_TRY(resolve(out->pairs[i].value, &out->places[i], error));
    PH_TRY(check_one(out, i, error));
  }
  return PH_OK;
}

void cli_saves_close(cli_saves *saves) {
  if (saves->places != NULL)
    for (uint32_t i = 0; i < saves->count; i++) free(saves->places[i]);
  free(saves->places);
  cli_pairs_free(saves->pairs, saves->count);
  *saves = (cli_saves){0};
}

const ph_output *cli_output_find(const ph_session *session, const char *path) {
  for (uint32_t i = 0; i < ph_session_output_count(session); i++) {
    const ph_output *output = ph_session_output(session, i);
    if (strcmp(output->alias, path) == 0 || strcmp(output->path, path) == 0) return output;
  }
  return NULL;
}

/* Before the first file is written, so that either all appear or none. */
static ph_status check_values(const cli_saves *saves, const ph_session *session, ph_error *error) {
  for (uint32_t i = 0; i < saves->count; i++) {
    const cli_pair *pair = &saves->pairs[i];
    const ph_output *output = cli_output_find(session, pair->name);
    if (output == NULL) return ph_fail(error, PH_INTERNAL, "-o %s: the run gave no such value", pair->name);
    if (output->tensor->dtype == PH_BF16 && !ends_in(pair->value, ".safetensors"))
      return ph_fail(error, PH_INVALID,
                     "-o %s=%s: the value is bf16, which NumPy's files cannot hold; use .safetensors", pair->name,
                     pair->value);
  }
  return PH_OK;
}

ph_status cli_saves_write(const cli_saves *saves, const ph_session *session, ph_error *error) {
  PH_TRY(check_values(saves, session, error));
  const char **names = ph_new_array(saves->count, sizeof(char *));
  const ph_tensor **tensors = ph_new_array(saves->count, sizeof(ph_tensor *));
  ph_status status = names != NULL && tensors != NULL ? PH_OK : ph_fail_memory(error);
  for (uint32_t i = 0; i < saves->count && status == PH_OK; i++) {
    size_t count = 0;
    bool written = false;
    for (uint32_t j = 0; j < saves->count; j++) {
      if (strcmp(saves->places[i], saves->places[j]) != 0) continue;
      written = written || j < i;
      names[count] = saves->pairs[j].name;
      tensors[count++] = cli_output_find(session, saves->pairs[j].name)->tensor;
    }
    if (!written) status = ph_tensor_file_write(saves->pairs[i].value, names, tensors, count, error);
  }
  free(names);
  free(tensors);
  return status;
}
