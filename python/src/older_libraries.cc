// Binds two functions to the versions that glibc 2.34 and the libstdc++ of GCC 11 have, so that a wheel built
// on Debian 12 runs where these are installed (manylinux_2_34). The newer versions compute the same:
// hypot@GLIBC_2.35 only omits the error handling of the SVID, and wait@GLIBCXX_3.4.30 only lets thread
// cancellation pass through, and no thread is cancelled here. The linker's option --wrap, which
// CMakeLists.txt sets, redirects each call to the functions below.

// The linker forms these names with two underscores.
// NOLINTBEGIN(bugprone-reserved-identifier)
asm(".symver older_hypot, hypot@GLIBC_2.2.5");
asm(".symver older_wait, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

extern "C" {

double older_hypot(double x, double y);
void older_wait(void* condition, void* lock);  // std::condition_variable::wait(std::unique_lock<std::mutex>&)

double __wrap_hypot(double x, double y) {
  return older_hypot(x, y);
}

void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition, void* lock) {
  older_wait(condition, lock);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
