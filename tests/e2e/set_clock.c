// Sets the wall clock of one process: it is ahead by as many seconds as the file SET_CLOCK_FILE says,
// a 64-bit number that may change at any time. For LD_PRELOAD.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* ahead;

__attribute__((constructor)) static void begin(void) {
  const char* name = getenv("SET_CLOCK_FILE");
  const int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* bytes = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (bytes != MAP_FAILED) ahead = bytes;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && clock == CLOCK_REALTIME && ahead != NULL) now->tv_sec += *ahead;
  return failed;
}

int gettimeofday(struct timeval* now, void* zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* seconds) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (seconds != NULL) *seconds = exact.tv_sec;
  return exact.tv_sec;
}
