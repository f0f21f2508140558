"""Guest images: recipe → kernel, initramfs and root image, cached by content and shared read-only by all guests."""

from lab.image.build import GuestImage, cached_guest_image, guest_image

__all__ = ["GuestImage", "cached_guest_image", "guest_image"]
