/* Writes a PNG, compressed: deflate with the fixed code, and matches found by a hash table with one
 * place for each three bytes. RFC 1950 and 1951, and the PNG specification. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PNG_WINDOW = 32768, PNG_HASH = 1 << 15, PNG_SHORTEST = 3, PNG_LONGEST = 258 };

/* Bytes on their way into a chunk. */
struct png_bytes {
    unsigned char *data;
    size_t size, room;
    uint64_t bits; /* not yet a byte; the first one is the lowest */
    unsigned bit_count;
    bool failed; /* there was no memory */
};

static inline void png_byte(struct png_bytes *out, unsigned byte) {
    if (out->size == out->room) {
        size_t room = out->room ? 2 * out->room : 65536;
        unsigned char *data = out->failed ? NULL : realloc(out->data, room);
        if (!data) {
            out->failed = true;
            return;
        }
        out->data = data;
        out->room = room;
    }
    out->data[out->size++] = (unsigned char)byte;
}

static inline void png_u32(struct png_bytes *out, uint32_t x) {
    for (int shift = 24; shift >= 0; shift -= 8) png_byte(out, x >> shift & 255);
}

/* ---- deflate ---- */

static inline void png_bits(struct png_bytes *out, uint32_t bits, unsigned count) {
    out->bits |= (uint64_t)bits << out->bit_count;
    for (out->bit_count += count; out->bit_count >= 8; out->bit_count -= 8) {
        png_byte(out, out->bits & 255);
        out->bits >>= 8;
    }
}

/* A code word begins with its highest bit. */
static inline void png_code(struct png_bytes *out, uint32_t code, unsigned count) {
    uint32_t reversed = 0;
    for (unsigned i = 0; i < count; i++) reversed |= (code >> i & 1) << (count - 1 - i);
    png_bits(out, reversed, count);
}

/* The fixed code of a byte (0 to 255), of the end (256) or of a length (257 to 285). */
static inline void png_symbol(struct png_bytes *out, unsigned symbol) {
    if (symbol < 144) png_code(out, 0x30 + symbol, 8);
    else if (symbol < 256) png_code(out, 0x190 + symbol - 144, 9);
    else if (symbol < 280) png_code(out, symbol - 256, 7);
    else png_code(out, 0xc0 + symbol - 280, 8);
}

/* Values from `first` on share a symbol in groups: `per_size` groups of 1, as many of 2, of 4, and
 * so on, but twice as many of 1. Returns the value's group; the rest goes into *extra. */
static inline unsigned png_group(unsigned value, unsigned per_size, unsigned *extra,
                                 unsigned *extra_bits) {
    unsigned group = 0, bits = 0, size = 2 * per_size;
    while (value >= size << bits >> (bits > 0)) {
        value -= size << bits >> (bits > 0);
        group += bits > 0 ? per_size : size;
        bits++;
    }
    *extra_bits = bits;
    *extra = value & ((1u << bits) - 1);
    return group + (value >> bits);
}

static inline void png_match(struct png_bytes *out, unsigned length, unsigned distance) {
    unsigned extra = 0, bits = 0;
    if (length == PNG_LONGEST) png_symbol(out, 285); /* the last group has only this one */
    else png_symbol(out, 257 + png_group(length - PNG_SHORTEST, 4, &extra, &bits));
    png_bits(out, extra, bits);
    png_code(out, png_group(distance - 1, 2, &extra, &bits), 5);
    png_bits(out, extra, bits);
}

/* Where the three bytes here were last, if that is near; else `at`. They are here from now on. */
static inline size_t png_find(size_t *seen, const unsigned char *in, size_t at) {
    uint32_t three = (uint32_t)(in[at] | in[at + 1] << 8 | in[at + 2] << 16);
    size_t *place = &seen[three * 2654435761u >> 17], from = *place;
    *place = at + 1;
    return from > 0 && at - (from - 1) <= PNG_WINDOW ? from - 1 : at;
}

static inline void png_deflate(struct png_bytes *out, const unsigned char *in, size_t size) {
    size_t *seen = calloc(PNG_HASH, sizeof *seen); /* 1 + a place in `in` */
    if (!seen) out->failed = true;
    png_bits(out, 3, 3); /* the last block; the fixed code */
    for (size_t at = 0; seen && at < size;) {
        size_t length = 0, most = size - at < PNG_LONGEST ? size - at : PNG_LONGEST;
        size_t from = most >= PNG_SHORTEST ? png_find(seen, in, at) : at;
        while (from < at && length < most && in[from + length] == in[at + length]) length++;
        if (length < PNG_SHORTEST) {
            png_symbol(out, in[at++]);
            continue;
        }
        png_match(out, (unsigned)length, (unsigned)(at - from));
        for (size_t end = at + length; ++at < end;) {
            if (size - at >= PNG_SHORTEST) png_find(seen, in, at);
        }
    }
    png_symbol(out, 256);
    png_bits(out, 0, 7); /* the last byte's rest */
    free(seen);
}

static inline uint32_t png_adler(const unsigned char *in, size_t size) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < size; i++) {
        a = (a + in[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* ---- the file ---- */

static inline void png_put(FILE *file, const void *data, size_t size, uint32_t *crc) {
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *bytes = data;
    if (size > 0) fwrite(data, 1, size, file);
    for (size_t i = 0; i < size; i++) {
        uint32_t next = table[(*crc ^ bytes[i]) & 15] ^ ((*crc ^ bytes[i]) >> 4);
        *crc = table[next & 15] ^ (next >> 4);
    }
}

static inline void png_chunk(FILE *file, const char *type, const struct png_bytes *body) {
    struct png_bytes number = {0};
    uint32_t crc = 0xffffffff;
    png_u32(&number, (uint32_t)body->size);
    if (!number.failed) fwrite(number.data, 1, 4, file);
    png_put(file, type, 4, &crc);
    png_put(file, body->data, body->size, &crc);
    number.size = 0;
    png_u32(&number, ~crc);
    if (!number.failed) fwrite(number.data, 1, 4, file);
    free(number.data);
}

/* Three bytes a pixel. Each byte is written as its difference to the pixel on the left, which
 * repeats more often than the colours do. False: there was no memory, or ferror(file) is set. */
static inline bool png_write(FILE *file, const unsigned char *pixels, unsigned width,
                             unsigned height) {
    struct png_bytes head = {0}, body = {0}, nothing = {0};
    size_t row = (size_t)3 * width, size = (row + 1) * height;
    unsigned char *filtered = malloc(size), *at = filtered;
    for (unsigned y = 0; filtered && y < height; y++) {
        *at++ = 1;
        for (size_t x = 0; x < row; x++, pixels++)
            *at++ = (unsigned char)(*pixels - (x < 3 ? 0 : pixels[-3]));
    }
    png_u32(&head, width);
    png_u32(&head, height);
    for (int i = 0; i < 5; i++) png_byte(&head, (unsigned char)"\x08\x02\0\0\0"[i]);
    png_byte(&body, 0x78);
    png_byte(&body, 0x01);
    if (filtered) png_deflate(&body, filtered, size);
    if (filtered) png_u32(&body, png_adler(filtered, size));
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
    png_chunk(file, "IHDR", &head);
    png_chunk(file, "IDAT", &body);
    png_chunk(file, "IEND", &nothing);
    bool written = filtered && !head.failed && !body.failed && !ferror(file);
    free(filtered);
    free(head.data);
    free(body.data);
    return written;
}
