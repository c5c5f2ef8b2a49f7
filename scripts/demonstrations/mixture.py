# SPDX-License-Identifier: Apache-2.0
# Draws conversations of mixed quality, so that reinforcement learning has much to improve.
from .conversation import FILES_LINE, Conversation, file_block, judged_wrong, profiled, verified
from .faults import changed_line, mistakes_of, uncompilable, with_mistake
from .kernel import STYLES, write_kernel
from .variants import resized, variants_of

# Shares of the styles among correct kernels: slow ones are common, the best ones rare.
RIGHT = {
    "passes": 0.60,
    "rows": 0.10,
    "vector": 0.06,
    "simd": 0.06,
    "ahead2": 0.03,
    "ahead4": 0.03,
    "ahead8": 0.03,
    "sketch": 0.09,
}
# Shares of the styles among wrong kernels: most are sketches.
WRONG = {"sketch": 0.62, "passes": 0.2, "rows": 0.1, "vector": 0.04, "simd": 0.04}
SLOW = {"passes": 0.6, "rows": 0.4}
BETTER = {"vector": 0.3, "simd": 0.4, "ahead2": 0.1, "ahead4": 0.1, "ahead8": 0.1}
SPEEDUP = {"passes": 0.4, "rows": 0.5}  # over eager, for the texts of profiles

# Shares of correct, wrong and broken submissions in conversations that submit their first version.
BLIND_WRONG, BLIND_BROKEN = 0.44, 0.12
EDITS = 0.4  # of the repairs that one line can make

VARIANTS = 0.8  # share of conversations about a variant of the task

SHAPES = {
    "blind": 0.58,
    "verified": 0.12,
    "compiled": 0.05,
    "corrected": 0.10,
    "repaired": 0.07,
    "improved": 0.06,
    "informed": 0.02,
}


def pick(rng, shares):
    names = list(shares)
    return rng.choices(names, [shares[n] for n in names])[0]


class Mixture:
    """Draws conversations for one task; `rng` is its only source of randomness."""

    def __init__(self, task, rng, recombined=(), answers=0.0):
        """`recombined`: further tasks to take variants from, as `recombinations` makes them; `answers`: share
        of conversations with one answer that contains the files."""
        self.rng, self.recombined, self.answers = rng, list(recombined), answers
        self.choices = [task, *variants_of(task)]
        self.take(task)

    def take(self, task):
        self.task, self.mistakes = task, mistakes_of(task)

    def right(self, shares=None):
        return write_kernel(self.task, STYLES[pick(self.rng, shares or RIGHT)])

    def wrong_pair(self):
        """(a wrong kernel, the same kernel without the mistake)."""
        style = STYLES[pick(self.rng, WRONG)]
        mistake = self.rng.choice(self.mistakes)
        return with_mistake(self.task, style, mistake), write_kernel(self.task, style)

    def broken_pair(self):
        """(a kernel that does not compile, the compiler's message, the complete kernel)."""
        whole = write_kernel(self.task, STYLES[pick(self.rng, {"sketch": 0.6, "passes": 0.2, "rows": 0.2})])
        source, message = uncompilable(whole, self.rng)
        return source, f"compile_error: {message}", whole

    def draw(self):
        if self.rng.random() < VARIANTS:
            more = self.recombined and self.rng.random() < 0.7
            self.take(resized(self.rng.choice(self.recombined if more else self.choices), self.rng))
        else:
            self.take(self.choices[0])
        if self.answers and self.rng.random() < self.answers:
            talk = Conversation(self.choices[0].id).user(self.task.prompt() + FILES_LINE)
            return talk.says(file_block(self.first_source())).record()
        conversation = Conversation(self.choices[0].id).user(self.task.prompt())
        getattr(self, pick(self.rng, SHAPES))(conversation)
        return conversation.submits().record()

    # One method per shape, up to the submission.

    def first_source(self):
        """A kernel that nothing has checked: correct, wrong or broken."""
        fate = self.rng.random()
        if fate < BLIND_WRONG:
            return self.wrong_pair()[0]
        if fate < BLIND_WRONG + BLIND_BROKEN:
            return self.broken_pair()[0]
        return self.right()

    def blind(self, talk):
        talk.writes(self.first_source())

    def verified(self, talk):
        talk.writes(self.right()).asks("verify", verified(self.rng))

    def compiled(self, talk):
        talk.writes(self.right()).asks("compile", "compiled")

    def corrected(self, talk):
        wrong, whole = self.wrong_pair()
        talk.writes(wrong).asks("verify", judged_wrong(self.rng))
        self.mend(talk, wrong, whole, self.right())

    def repaired(self, talk):
        source, message, whole = self.broken_pair()
        talk.writes(source).asks(self.rng.choice(("compile", "verify")), message)
        self.mend(talk, source, whole, whole)

    def mend(self, talk, source, whole, rewritten):
        """An edit if one line differs, else the whole kernel again."""
        line = changed_line(whole, source)
        if line and self.rng.random() < EDITS:
            talk.edits(line[1], line[0])
        else:
            talk.writes(rewritten)

    def improved(self, talk):
        style = pick(self.rng, SLOW)
        talk.writes(write_kernel(self.task, STYLES[style]))
        talk.asks("profile", profiled(self.rng, SPEEDUP[style])).writes(self.right(BETTER))

    def informed(self, talk):
        text = self.task.reference_text()
        talk.says(READ_REFERENCE).hears(text).writes(self.right())


READ_REFERENCE = "<tool_call>\n<function=read>\n<parameter=path>\nreference.py\n</parameter>\n</function>\n</tool_call>"
