# Guest library: its core linked with a fake device, in one process, no VM.
add_library(apir-guest-fake STATIC guest_fake.cpp)
target_link_libraries(apir-guest-fake PUBLIC apir-guest)

foreach(name startup golden calls)
  add_executable(test-guest-${name} guest_${name}_test.cpp)
  target_link_libraries(test-guest-${name} PRIVATE apir-guest-fake)
  add_test(NAME guest-${name} COMMAND test-guest-${name})
  set_tests_properties(guest-${name} PROPERTIES TIMEOUT 120)
endforeach()

# The whole op path: guest library, host library and ggml's CPU backend in one process.
