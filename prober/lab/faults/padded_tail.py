"""K6: attention reads the padding behind a prompt."""

from prober.lab.faults.fault import Fault


class PaddedTail(Fault):
    """Prompts are padded to a power of two of pages, and the mask covers the padded length."""

    NAME = "padded_tail"
    KIND = "K6"
    SUMMARY = (
        "A prompt is padded to the next power of two of pages and its padding attended to; there the page table has "
        "what an earlier request left in the row, and the answer, once said, goes on with the text in those pages."
    )
    SOURCE = "tenstorrent/tt-metal issue #56324, vLLM issue #55600"
    SCENE = "small-batched"
    SCENARIO = "replay"
    FIXES = frozenset({"mask_true_length"})

    def attended_pages(self, room: int, pages: int) -> int:
        """All of the bucket."""
        bucket = 1 << (pages - 1).bit_length()
        if bucket > pages and self.dice.strikes(PaddedTail.NAME, room):
            return bucket
        return super().attended_pages(room, pages)
