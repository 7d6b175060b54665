/*
 * The rival of the device benchmark: scoring as plain loops in C, compiled with -O3.
 *
 * It reads the same columns as the runtimes, in the order that docs/bundle-format.md fixes, so its
 * scores are equal bit by bit. A stretch of items is kept in the first-level cache.
 */

#include <stdint.h>
#include <string.h>

enum { STRETCH = 4096 };

/* Scores of a group of n items: one gain byte and n_columns code bytes for each. */
void look_up(const uint8_t *columns, int64_t n, int64_t n_columns, const float *tables,
             const float *gains, float offset, float *scores)
{
    static _Thread_local float sums[STRETCH];
    for (int64_t start = 0; start < n; start += STRETCH) {
        const int64_t m = n - start < STRETCH ? n - start : STRETCH;
        memset(sums, 0, sizeof sums);
        for (int64_t c = 0; c < n_columns; c++) {
            const uint8_t *column = columns + (1 + c) * n + start;
            const float *table = tables + 256 * c;
            for (int64_t i = 0; i < m; i++)
                sums[i] += table[column[i]];
        }
        for (int64_t i = 0; i < m; i++)
            scores[start + i] = offset + sums[i] * gains[columns[start + i]];
    }
}

/* Adds what the history votes for a group of n items with n_slots neighbours each. */
void vote(const uint8_t *slots, int64_t n, int64_t n_slots, int64_t full, int64_t rest,
          const uint8_t *in_history, const float *votes, float weight, float *scores)
{
    const int64_t plane = (n + 7) / 8, slot = full * n + rest * plane + (n + 1) / 2;
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t k = 0; k < n_slots; k++) {
            const uint8_t *at = slots + k * slot;
            uint32_t number = 0;
            for (int64_t f = 0; f < full; f++, at += n)
                number |= (uint32_t)at[i] << (8 * f);
            for (int64_t r = 0; r < rest; r++, at += plane)
                number |= (uint32_t)(at[i / 8] >> (i % 8) & 1) << (8 * full + r);
            if (in_history[number])
                sum += votes[at[i / 2] >> (4 * (i % 2)) & 15];
        }
        scores[i] += weight * sum;
    }
}
