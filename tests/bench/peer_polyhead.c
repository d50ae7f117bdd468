/* Polyhead as one of the peers: `open NAME DEVICE CONFIG`.  The outputs of each run must have the bits of the first. */
#include <polyhead/polyhead.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

struct peer_work {
  ph_context *context;
  ph_model *model;
  ph_session *session;
  ph_tensor **first; /* copies, by output */
  ph_error error;
};

static ph_status keep(peer_work *work) {
  uint32_t count = ph_session_output_count(work->session);
  work->first = calloc(count + 1, sizeof(*work->first));
  if (work->first == NULL) return PH_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < count; i++) {
    const ph_tensor *from = ph_session_output(work->session, i)->tensor;
    ph_status status = ph_tensor_create(from->dtype, from->rank, from->dims, &work->first[i], &work->error);
    if (status != PH_OK) return status;
    memcpy(work->first[i]->data, from->data, from->bytes);
  }
  return PH_OK;
}

static bool has_changed(const peer_work *work) {
  for (uint32_t i = 0; i < ph_session_output_count(work->session); i++) {
    const ph_tensor *now = ph_session_output(work->session, i)->tensor;
    if (memcmp(now->data, work->first[i]->data, now->bytes) != 0) return true;
  }
  return false;
}

peer_work *peer_open(char **words, int count, const char **reason) {
  static char message[sizeof(((ph_error *)0)->message)];
  peer_work *work = calloc(1, sizeof(*work));
  if (work == NULL || count < 2) return NULL;
  work->error.struct_size = sizeof(work->error);
  ph_session_options options = {.struct_size = sizeof(options), .device = words[0]};
  ph_status status = ph_context_create(NULL, &work->context, &work->error);
  if (status == PH_OK) status = ph_model_load(words[1], NULL, &work->model, &work->error);
  if (status == PH_OK) status = ph_session_create(work->context, work->model, &options, &work->session, &work->error);
  if (status == PH_OK) status = ph_session_run(work->session, &work->error);
  if (status == PH_OK) status = keep(work);
  if (status == PH_OK) return work;
  snprintf(message, sizeof(message), "%s", work->error.message);
  *reason = message;
  peer_close(work);
  return NULL;
}

void peer_close(peer_work *work) {
  for (uint32_t i = 0; work->first != NULL && i < ph_session_output_count(work->session); i++)
    ph_tensor_release(work->first[i]);
  free(work->first);
  ph_session_destroy(work->session);
  ph_model_destroy(work->model);
  ph_context_destroy(work->context);
  free(work);
}

int peer_ways(const peer_work *work) {
  (void)work;
  return 1;
}

const char *peer_run(peer_work *work, int way) {
  (void)way;
  return ph_session_run(work->session, &work->error) == PH_OK ? NULL : work->error.message;
}

void peer_tell(const peer_work *work) {
  double flops = 0, bytes = 0;
  ph_memory_report memory = ph_session_memory(work->session);
  ph_peak peak = ph_session_peak(work->session, true);
  for (uint32_t i = 0; i < ph_session_node_count(work->session); i++) {
    flops += ph_session_node(work->session, i)->flops;
    bytes += (double)ph_session_node(work->session, i)->bytes;
  }
  printf(
      "flops=%.9g bytes=%.9g inputs=%llu outputs=%llu inside=%llu peak_flops=%.6g peak_read=%.6g changed=%d nodes=%u",
      flops, bytes, (unsigned long long)memory.inputs, (unsigned long long)memory.outputs,
      (unsigned long long)(memory.arena + memory.workspace), peak.flops, peak.read_bytes, has_changed(work),
      ph_session_node_count(work->session));
  for (uint32_t i = 0; i < ph_session_node_count(work->session); i++)
    printf("%s%s", i == 0 ? " variants=" : ",", ph_session_node(work->session, i)->variant);
}
