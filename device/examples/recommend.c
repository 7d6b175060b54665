/* Lists ten items for three liked ones: recommend STREAM ID ID ID, with ids that are numbers. */
#define ELASTICREC_IMPLEMENTATION
#include "elasticrec.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t stream_bytes[8 << 20], memory[4 << 20], work[1 << 20]; /* what this device has */

int main(int n, char **words) {
  FILE *file = n == 5 ? fopen(words[1], "rb") : NULL;
  size_t size = file ? fread(stream_bytes, 1, sizeof stream_bytes, file) : 0;
  elasticrec_id likes[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}}, id;
  elasticrec_item items[10];
  elasticrec_stream stream;
  elasticrec_question ask = {0};
  elasticrec_answer answer = {0, 0};
  elasticrec_error error = {"file", 0, 1, 1, ELASTICREC_NONE};
  char line[200];
  int refused = size == 0;
  for (int i = 0; i < 3 && n == 5; i++) likes[i].number = strtoull(words[2 + i], NULL, 10);
  ask.history = likes, ask.n_history = 3, ask.k = 10, ask.why = 1;
  if (!refused)
    refused = elasticrec_open(&stream, stream_bytes, size, NULL, 0, memory, sizeof memory, work,
                              sizeof work, &error);
  if (!refused)
    refused = elasticrec_recommend(&stream, &ask, work, sizeof work, items, &answer, &error);
  if (refused) {
    elasticrec_explain(&error, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return 2;
  }
  for (uint32_t i = 0; i < answer.listed; i++) {
    (void)elasticrec_id_of(&stream, items[i].item, &id);
    printf("%llu %lld", (unsigned long long)id.number, (long long)items[i].score);
    if (elasticrec_id_of(&stream, items[i].why, &id) == ELASTICREC_OK)
      printf(" because of %llu", (unsigned long long)id.number);
    putchar('\n');
  }
  return 0;
}
