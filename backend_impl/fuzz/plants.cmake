# Planted defects: host library, worker, ring and guest library with one thing wrong each, and the check that has to see it. A plant is one
# source compiled anew with its macro; the rest is that of the good one. A test passes when the check says what is wrong.
function(apir_plant name source)
  string(TOUPPER ${name} macro)
  apir_changed_host(${name} APIR_PLANT_${macro} ${source})
endfunction()

set(mutations host-mutations --ggml-library ${GGML_CPU_BACKEND} --seeds ${CMAKE_CURRENT_SOURCE_DIR}/seeds/ops.txt --most-findings 1
  --count 20000)

function(apir_plant_test name seen)
  add_test(NAME plant-${name} COMMAND ${ARGN})
  set_tests_properties(plant-${name} PROPERTIES TIMEOUT 120 PASS_REGULAR_EXPRESSION "${seen}")
endfunction()

# One that mutated messages find; what they found is kept in a folder of its own.
function(apir_mutation_plant name source seen)
  apir_plant(${name} ${source})
  apir_plant_test(${name} "${seen}" ${mutations} --out ${CMAKE_CURRENT_BINARY_DIR}/planted-${name} --host-library $<TARGET_FILE:plant-${name}> ${ARGN})
endfunction()

# What shows only when threads meet, for which they need all processors.
function(apir_racing_plants)
  list(TRANSFORM ARGN PREPEND plant-)
  set_tests_properties(${ARGN} PROPERTIES RUN_SERIAL ON)
endfunction()

# A plant ends with the first race that is seen: what comes after one is anybody's guess, a call that nobody answers for one.
set(ends_with_a_race ${CMAKE_COMMAND} -E env TSAN_OPTIONS=halt_on_error=1)

# The guest library, linked into its tests. It may die of its defect: then the shell says so, unless it cannot be started (126, 127).
function(apir_guest_plant name source test seen)
  string(TOUPPER ${name} macro)
  add_executable(plant-guest-${name} $<TARGET_OBJECTS:test-guest-${test}> ${CMAKE_SOURCE_DIR}/guest/${source})
  target_compile_definitions(plant-guest-${name} PRIVATE APIR_PLANT_${macro})
  target_link_libraries(plant-guest-${name} PRIVATE apir-guest-fake)
  set_target_properties(plant-guest-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  apir_plant_test(guest-${name} "${seen}" ${ends_with_a_race} GGML_NO_BACKTRACE=1
    sh -c "'$<TARGET_FILE:plant-guest-${name}>' 2>&1 || (test $? -ne 126 -a $? -ne 127 && echo seen: red)")
endfunction()

# What only goes wrong now and then is seen every time by the sanitizer that looks for it.
if(APIR_SANITIZE_THREAD)
  apir_plant(missing_lock session.cpp)
  apir_plant_test(missing_lock "ThreadSanitizer: data race" ${ends_with_a_race} $<TARGET_FILE:host-threads> $<TARGET_FILE:plant-missing_lock> ${GGML_CPU_BACKEND} 300)
  apir_guest_plant(unlocked_pool blob_pool.cpp threads "ThreadSanitizer: data race")
  apir_racing_plants(missing_lock guest-unlocked_pool)
  return()
endif()

apir_mutation_plant(missing_bound shared_memory.cpp "killed 1,")
apir_mutation_plant(trusted_handle session.cpp "killed 1,")
apir_mutation_plant(wrong_byte calls_buffer.cpp "wrong 1,")
apir_mutation_plant(lost_reply entry.cpp "wrong 1,")
apir_mutation_plant(quiet_end entry.cpp "a child has ended well, and not all of 20000 messages were sent")
apir_mutation_plant(loose_strides cpu_layout.cpp "killed 1," --strides 1)
apir_plant_test(loose_strides-threads "killed 1," ${by_threads} --host-library $<TARGET_FILE:plant-loose_strides> --strides 1 --count 20000 --most-findings 1
  --out ${CMAKE_CURRENT_BINARY_DIR}/planted-loose_strides-threads)
apir_plant(leak calls_buffer.cpp)
apir_plant_test(leak "memory grows" host-soak $<TARGET_FILE:plant-leak> ${GGML_CPU_BACKEND} 20000 2000)
apir_plant(missing_lock session.cpp)
apir_plant_test(missing_lock "not one call after the other" host-threads $<TARGET_FILE:plant-missing_lock> ${GGML_CPU_BACKEND} 3000)

# The worker: what it tells its guest, and whether it forgets what is gone.
function(apir_worker_plant name test seen)
  string(TOUPPER ${name} macro)
  # Found here, the source's part of the library is left out.
  add_executable(plant-worker-${name} ${CMAKE_SOURCE_DIR}/virgl/worker/main.cpp ${CMAKE_SOURCE_DIR}/virgl/worker/commands.cpp)
  target_compile_definitions(plant-worker-${name} PRIVATE APIR_PLANT_${macro})
  target_link_libraries(plant-worker-${name} PRIVATE apir-worker-parts)
  set_target_properties(plant-worker-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  apir_plant_test(worker-${name} "${seen}" ${CMAKE_COMMAND} -E env APIR_TEST_WORKER=$<TARGET_FILE:plant-worker-${name}> $<TARGET_FILE:test-virgl-${test}> ${ARGN})
endfunction()

apir_worker_plant(stale_resource component "gone for the worker too" blobs)
apir_worker_plant(untold_reply ring "calls +FAILED" calls)

# The ring's consumer: a length that is the other side's word.
add_executable(plant-ring-trusted_size ${CMAKE_SOURCE_DIR}/tests/ring_test.cpp)
target_include_directories(plant-ring-trusted_size PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(plant-ring-trusted_size PRIVATE APIR_PLANT_TRUSTED_SIZE)
target_link_libraries(plant-ring-trusted_size PRIVATE apir-wire Threads::Threads)
apir_plant_test(ring-trusted_size "hostile_guest +FAILED" plant-ring-trusted_size hostile_guest)

apir_guest_plant(reused_slot channel.cpp failures "the reply slot of a call without a reply is used again")
apir_guest_plant(trusted_base remote_buffer.cpp failures "base [0-9a-f]+ accepted")
apir_guest_plant(shared_slot blob_pool.cpp threads "seen: red")
apir_guest_plant(missed_waiter blob_pool.cpp threads "who waits is not told")
apir_racing_plants(missing_lock guest-shared_slot guest-missed_waiter)

# What random programs find: the 11th and the 57th, each in most runs and none in all, for threads decide. The 48 from the 11th on are both.
function(apir_programs_plant name source)
  string(TOUPPER ${name} macro)
  add_executable(plant-programs-${name} $<TARGET_OBJECTS:guest-programs> ${CMAKE_SOURCE_DIR}/guest/${source})
  target_compile_definitions(plant-programs-${name} PRIVATE APIR_PLANT_${macro})
  target_link_libraries(plant-programs-${name} PRIVATE apir-guest-loopback)
  set_target_properties(plant-programs-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  apir_plant_test(programs-${name} "no graph behind it was refused" plant-programs-${name} $<TARGET_FILE:ggml-virtgpu-backend> ${GGML_CPU_BACKEND} 48 11)
  set_tests_properties(plant-programs-${name} PROPERTIES COST 100)
endfunction()

apir_programs_plant(untold_writes channel.cpp)

# No defect but a measure: without its checks, to tell what they cost. By hand, for times are noisy: README.md.
apir_changed_host(unchecked APIR_UNCHECKED compute_graph.cpp shared_memory.cpp guarded_compute.cpp)
add_executable(check-cost check_cost.cpp)
target_include_directories(check-cost PRIVATE ${CMAKE_SOURCE_DIR} ${GGML_INCLUDE_DIR})
target_link_libraries(check-cost PRIVATE apir-wire ${CMAKE_DL_LIBS})
add_dependencies(check-cost ggml-virtgpu-backend plant-unchecked)
