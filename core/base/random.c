/* Counter-based random numbers: Threefry-2x64 with 20 rounds (J. Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11).  Additions, rotations and exclusive ors alone: the same bits on every machine, in any order. */
#include "base/random.h"

typedef struct pair {
  uint64_t x, y;
} pair;

static uint64_t rotate(uint64_t value, unsigned bits) {
  return value << bits | value >> (64 - bits);
}

static pair threefry(pair key, pair counter) {
  static const unsigned rotations[8] = {16, 42, 12, 31, 16, 32, 24, 21};
  enum { ROUNDS = 20, ROUNDS_PER_KEY = 4 };
  const uint64_t keys[3] = {key.x, key.y, key.x ^ key.y ^ 0x1BD11BDAA9FC1A22u};
  pair block = {counter.x + keys[0], counter.y + keys[1]};
  for (unsigned round = 0; round < ROUNDS; round++) {
    block.x += block.y;
    block.y = rotate(block.y, rotations[round % 8]) ^ block.x;
    if (round % ROUNDS_PER_KEY == ROUNDS_PER_KEY - 1) {
      unsigned injection = round / ROUNDS_PER_KEY + 1;
      block.x += keys[injection % 3];
      block.y += keys[(injection + 1) % 3] + injection;
    }
  }
  return block;
}

uint64_t ph_random_key(uint64_t seed, const char *name) {
  uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
  for (const unsigned char *byte = (const unsigned char *)name; *byte != '\0'; byte++)
    hash = (hash ^ *byte) * 0x100000001B3u;
  /* The second key word tells keys apart from the numbers that are drawn with them. */
  return threefry((pair){seed, 1}, (pair){hash, 0}).x;
}

uint64_t ph_random_bits(uint64_t key, uint64_t index) {
  return threefry((pair){key, 0}, (pair){index, 0}).x;
}

double ph_random_unit(uint64_t key, uint64_t index) {
  return (double)(ph_random_bits(key, index) >> 11) * 0x1p-53;
}

/* The sum of twelve 21-bit integers (Irwin-Hall): each has variance (2^42 - 1) / 12, so the sum has a spread of 2^21 to
 * thirteen digits, its mean is taken away exactly, and nothing is rounded.  Near enough to a normal for weights and
 * test data: kurtosis 2.9, all values inside +-6. */
double ph_random_normal(uint64_t key, uint64_t index) {
  enum { PIECE_BITS = 21, PIECES = 12 };
  const int64_t largest = (1 << PIECE_BITS) - 1;
  pair a = threefry((pair){key, 0}, (pair){index, 1}), b = threefry((pair){key, 0}, (pair){index, 2});
  const uint64_t words[4] = {a.x, a.y, b.x, b.y};
  int64_t twice = -PIECES * largest; /* doubled, for the mean of a piece is largest / 2 */
  for (unsigned word = 0; word < 4; word++)
    for (unsigned shift = 0; shift < 3 * PIECE_BITS; shift += PIECE_BITS)
      twice += 2 * (int64_t)(words[word] >> shift & (uint64_t)largest);
  return (double)twice * 0x1p-22;
}
