/* The C runtime as a library for elasticrec_device_native.py: item numbers stand for ids. */
#define ELASTICREC_IMPLEMENTATION
#include "elasticrec.h"

size_t elasticrec_native_bytes(void);
size_t elasticrec_native_bytes(void) { return sizeof(elasticrec_stream); }

int elasticrec_native_open(elasticrec_stream *stream, const void *data, size_t size, void *memory,
                           size_t memory_bytes, void *work, size_t work_bytes,
                           elasticrec_error *error);
int elasticrec_native_open(elasticrec_stream *stream, const void *data, size_t size, void *memory,
                           size_t memory_bytes, void *work, size_t work_bytes,
                           elasticrec_error *error) {
  int verdict = elasticrec_open(stream, data, size, NULL, 0, memory, memory_bytes, work,
                                work_bytes, error);
  stream->id_kind = 0; /* Python keeps the ids */
  return verdict;
}
