"""``lab setup``: everything a first run would build, built now."""

from __future__ import annotations

from lab.deadline import Deadline
from lab.host.abi import prove_payload
from lab.host.apt import ensure_packages
from lab.host.lock import mend_lock, write_lock
from lab.host.native import native_payloads
from lab.host.probe import is_built
from lab.host.progress import Progress
from lab.host.recipe import named_recipe
from lab.host.root import RECIPE, host_root
from lab.image import guest_image
from lab.image.ahead import begun
from lab.scenario.shipment import ggml_library

SETUP_S = 3600.0


def set_up(image_name: str, progress: Progress, *, refresh: bool, update_lock: bool) -> dict[str, str]:
    """Build what the cache lacks; paths of what there is then, as ``lab setup --json`` gives them."""
    deadline = Deadline.after(SETUP_S)
    recipes = (named_recipe(RECIPE, "host-root"), named_recipe(image_name, "guest"))
    for recipe in recipes if update_lock else ():
        mend_lock(recipe.lock)
    ensure_packages(progress, deadline, to_build=refresh or not is_built(image_name))
    with begun(image_name, progress, deadline, again=refresh) as image_ended:
        root = host_root(progress, deadline, refresh=refresh)
        native = native_payloads(root, progress, deadline)
        image_ended()
    image = guest_image(image_name, progress, deadline, refresh=refresh)
    prove_payload(native, root, image.rootfs, progress, deadline)
    if update_lock:
        for recipe, packages in zip(recipes, (root.packages, image.packages), strict=True):
            write_lock(recipe.lock, packages)
    library = ggml_library("cpu", root, deadline)
    return {
        "host_root": str(root.path),
        "image": str(image.rootfs),
        "guest_library": str(native.guest_library),
        "host_library": str(native.host_library),
        "component": str(native.component),
        "ggml_library": str(library.path),
    }
