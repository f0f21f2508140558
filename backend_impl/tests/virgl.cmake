# The component: the preload in front of a fake virglrenderer, with real workers and a fake host library. No QEMU.
add_library(test-virgl-fake-renderer SHARED virgl_fake_renderer.cpp)
add_library(test-virgl-fake-host MODULE virgl_fake_host.cpp)

# Each is named as the QEMU module it stands in for; only the names differ, and what they import.
foreach(name virtio-gpu-gl other)
  add_library(test-module-${name} MODULE virgl_fake_module.cpp)
  target_link_libraries(test-module-${name} PRIVATE apir-preload test-virgl-fake-renderer)
endforeach()
add_library(test-module-later-virtio-gpu-gl MODULE virgl_fake_module.cpp)
target_compile_definitions(test-module-later-virtio-gpu-gl PRIVATE UNHEARD_OF)
target_link_libraries(test-module-later-virtio-gpu-gl PRIVATE apir-preload test-virgl-fake-renderer)

foreach(name component confinement lifetime capset ring random)
  add_executable(test-virgl-${name} virgl_${name}_test.cpp)
  target_include_directories(test-virgl-${name} PRIVATE ${CMAKE_SOURCE_DIR} ${VIRGLRENDERER_INCLUDE_DIR})
  # In this order: the preload's functions first, then those that it stands in front of, which nothing names.
  target_link_options(test-virgl-${name} PRIVATE -Wl,--no-as-needed)
  target_link_libraries(test-virgl-${name} PRIVATE apir-preload test-virgl-fake-renderer apir-wire Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_definitions(test-virgl-${name} PRIVATE APIR_WORKER="$<TARGET_FILE:apir-worker>"
    FAKE_HOST="$<TARGET_FILE:test-virgl-fake-host>" FAKE_RENDERER="$<TARGET_FILE:test-virgl-fake-renderer>"
    FAKE_MODULE="$<TARGET_FILE:test-module-virtio-gpu-gl>" FAKE_OTHER_MODULE="$<TARGET_FILE:test-module-other>"
    FAKE_MODULE_LATER="$<TARGET_FILE:test-module-later-virtio-gpu-gl>")
  add_dependencies(test-virgl-${name} apir-worker test-virgl-fake-host test-module-virtio-gpu-gl test-module-other test-module-later-virtio-gpu-gl)
  add_test(NAME virgl-${name} COMMAND test-virgl-${name})
  set_tests_properties(virgl-${name} PROPERTIES TIMEOUT 120)
endforeach()

# Asks what the preload, whose own functions nobody sees, has asked the scheduler for.
target_link_libraries(test-virgl-component PRIVATE apir-component)

add_executable(test-virgl-arena virgl_arena_test.cpp)
target_include_directories(test-virgl-arena PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-virgl-arena PRIVATE apir-component)
add_test(NAME virgl-arena COMMAND test-virgl-arena)

add_executable(test-virgl-wakefulness virgl_wakefulness_test.cpp)
target_include_directories(test-virgl-wakefulness PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-virgl-wakefulness PRIVATE apir-worker-parts)
add_test(NAME virgl-wakefulness COMMAND test-virgl-wakefulness)

add_executable(test-virgl-held-fences virgl_held_fences_test.cpp)
target_include_directories(test-virgl-held-fences PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(test-virgl-held-fences PRIVATE apir-wire)
add_test(NAME virgl-held-fences COMMAND test-virgl-held-fences)
