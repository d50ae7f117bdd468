/* Ports: the inputs and outputs of a segment, as tensors of the host's on one side and as buffers of the device on the
 * other.  Where memory is unified, the buffer lies over the tensor's own memory and nothing is copied. */
#ifndef POLYHEAD_RUNTIME_PORT_H
#define POLYHEAD_RUNTIME_PORT_H

#include "graph/type.h"
#include "runtime/context.h"

/* Content without a number is never taken for known. */
#define PH_CONTENT_UNKNOWN 0u

typedef struct ph_port {
  ph_tensor *tensor; /* whose bytes the buffer holds, or will hold; NULL at first */
  uint64_t content;  /* inputs: the number of what the buffer holds */
  ph_buffer *buffer; /* NULL while there is none, and for a tensor without elements */
  bool wraps;        /* the buffer lies over the tensor's memory */
} ph_port;

/* Gets the tensor's bytes to the device.  `content` names them: the same number as last time means the same bytes, and
 * then there is nothing to do. */
PH_NODISCARD ph_status ph_port_feed(ph_port *port, const ph_open_device *device, ph_queue *queue, ph_tensor *tensor,
                                    uint64_t content, ph_error *error);

/* Makes ready to receive: port->tensor becomes one of this type that nobody else has, port->buffer takes its bytes. */
PH_NODISCARD ph_status ph_port_open(ph_port *port, const ph_open_device *device, const ph_type *type, ph_error *error);
/* After execute(): brings the bytes to port->tensor.  Where the buffer wraps it, this waits for all that was queued;
 * else they are there after finish(). */
PH_NODISCARD ph_status ph_port_fetch(ph_port *port, const ph_open_device *device, ph_queue *queue, ph_error *error);

/* Lets go of the tensor, for a while that nothing runs; a buffer of the device's own stays. */
void ph_port_rest(ph_port *port, const ph_open_device *device);
void ph_port_close(ph_port *port, const ph_open_device *device);

#endif
