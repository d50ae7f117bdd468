/* A program on the host API: runs a config on the reference and prints its last output. */
#include <polyhead/polyhead.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  ph_error error = {.struct_size = sizeof error};
  ph_context *context = NULL;
  ph_model *model = NULL;
  ph_session *session = NULL;
  const ph_context_options options = {.struct_size = sizeof options};
  const ph_model_options model_options = {.struct_size = sizeof model_options};
  const ph_session_options session_options = {.struct_size = sizeof session_options, .device = "reference"};

  ph_status status = ph_context_create(&options, &context, &error);
  if (status == PH_OK) status = ph_model_load(argv[1], &model_options, &model, &error);
  if (status == PH_OK) status = ph_session_create(context, model, &session_options, &session, &error);
  if (status == PH_OK) status = ph_session_run(session, &error);
  if (status == PH_OK) {
    const ph_print_options print = {.struct_size = sizeof print};
    ph_tensor_print(stdout, ph_session_output(session, ph_session_output_count(session) - 1)->tensor, &print);
  } else {
    fprintf(stderr, "%s: %s\n", ph_status_name(status), error.message);
  }
  ph_session_destroy(session);
  ph_model_destroy(model);
  ph_context_destroy(context);
  return status == PH_OK ? 0 : 1;
}
