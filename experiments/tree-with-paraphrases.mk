# Does structure help composition where the objective links two sentences that say the same? The objective and flags of
# tree-with-pairs.mk, along constituency, balanced and right-branching trees, beside the mean of the same words, with as
# many pairs, steps and, but for the 210 of composition, numbers; measured by the nine tasks of strae.mk. Paraphrases are
# pairs of MRPC and those of SICK that people scored 4 and more; the tests of these two have sentences of the same kinds.
.PHONY: strae-paraphrases report-strae-paraphrases

strae-paraphrases: $(INSTALLED) ## Trees and paraphrases
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory $(PARAPHRASES)/table.md
	@cat $(PARAPHRASES)/table.md

PARAPHRASES := $(STRAE)/paraphrases
PARAPHRASE_HELD := 400
PARAPHRASE_SHAPES := constituency balanced right-branching
# rates tried, one seed: that with the lowest loss of held-out pairs at the end is taken; other shapes have that of constituency
PARAPHRASE_RATES := 0.002 0.006 0.02 0.06
PARAPHRASE_FLAGS := $(PAIRED_FLAGS) --epochs 10

PARAPHRASE_FILES = $(DATA)/strae_eval/mrpc_train.jsonl.gz $(DATA)/strae_eval/sick_r_train.jsonl.gz
$(PARAPHRASES)/pairs.jsonl: $(PARAPHRASE_FILES)
	@mkdir -p $(@D)
	{ $(STRUCTKIT) select -q $< --where label=1; $(STRUCTKIT) select -q $(word 2,$^) --where 'score~^[45]'; } > $@
$(PARAPHRASES)/pairs-constituency.jsonl: $(PARAPHRASES)/pairs.jsonl
	$(PARSE) builtin $(PAIR) $< -o $@
$(PARAPHRASES)/pairs-balanced.jsonl $(PARAPHRASES)/pairs-right-branching.jsonl: $(PARAPHRASES)/pairs-%.jsonl: $(PARAPHRASES)/pairs.jsonl
	$(PARSE) $* $(PAIR) $< -o $@
$(PARAPHRASES)/held.jsonl: $(PARAPHRASES)/pairs.jsonl
	$(STRUCTKIT) select -q $< --sample $(PARAPHRASE_HELD) -o $@

OF_PAIR = --fields id,text_a_tree,text_b_tree --rename text_a_tree=query --rename text_b_tree=positive -o $@
$(STRAE)/train-paraphrased-%.jsonl: $(PARAPHRASES)/pairs-%.jsonl $(PARAPHRASES)/held.jsonl
	$(STRUCTKIT) select -q $< --not-in $(word 2,$^) $(OF_PAIR)
$(PARAPHRASES)/held-%.jsonl: $(PARAPHRASES)/pairs-%.jsonl $(PARAPHRASES)/held.jsonl
	$(STRUCTKIT) select -q $< --in $(word 2,$^) $(OF_PAIR)
$(PARAPHRASE_SHAPES:%=$(STRAE)/eval-paraphrased-%.jsonl): $(STRAE)/eval-paraphrased-%.jsonl: $(STRAE)/eval-%.jsonl
	cp $< $@

define paraphrase-tried
$(PARAPHRASES)/rate-$(1): $(PARAPHRASES)/tried-$(1)@$(2).model
$(PARAPHRASES)/tried-$(1)@$(2).model: $(STRAE)/train-paraphrased-constituency.jsonl $(PARAPHRASES)/held-constituency.jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train strae $$< -q --seed 0 $(PARAPHRASE_FLAGS) --learning-rate $(2) $(3) \
	  --validate $$(word 2,$$^) $$(RESUME) -o $$@ > $$@.json
endef
$(foreach rate,$(PARAPHRASE_RATES),$(eval $(call paraphrase-tried,trees,$(rate),)) \
  $(eval $(call paraphrase-tried,words,$(rate),--pooling mean)))
$(PARAPHRASES)/rate-trees $(PARAPHRASES)/rate-words:
	$(LOWEST)

STRAE_ROWS := $(addprefix $(PARAPHRASES)/,systems scores.jsonl compared.jsonl)
STRAE_TRAINED := $(PARAPHRASES)/trained
# a model: its name, shape, flags, and whose rate it has
define paraphrase-model
$(call strae-model,paraphrases/$(1),strae,paraphrased-$(2),$(PARAPHRASE_FLAGS) $(3) $(if $(4),--learning-rate $$$$(cat $(PARAPHRASES)/rate-$(4))))
$(if $(4),$(SEEDS:%=$(PARAPHRASES)/$(1)@%.model): $(PARAPHRASES)/rate-$(4))
endef
$(foreach shape,$(PARAPHRASE_SHAPES),$(eval $(call paraphrase-model,pairs-$(shape),$(shape),,trees)))
$(eval $(call paraphrase-model,pairs-words,constituency,--pooling mean,words))
$(eval $(call paraphrase-model,pairs-untrained,constituency,--max-steps 0,))
$(eval $(call paraphrase-model,pairs-untrained-words,constituency,--max-steps 0 --pooling mean,))

# stated on 2026-11-24, before the runs: trees are above the mean of the words, and above balanced trees over them;
# to learn from pairs helps both
PARAPHRASE_HYPOTHESES := $(patsubst %,pairs-constituency:%,pairs-words pairs-balanced pairs-untrained) pairs-words:pairs-untrained-words
PARAPHRASE_AGAINST := pairs-words pairs-balanced pairs-untrained pairs-untrained-words
$(PARAPHRASES)/scores.jsonl: $(PARAPHRASES)/systems
	$(SUITE) $(LISTED) -o $@
$(PARAPHRASES)/compared.jsonl: $(PARAPHRASES)/systems
	$(SUITE) $(LISTED) -o $@ $(addprefix --compare ,$(foreach name,$(PARAPHRASE_AGAINST),$(filter $(PARAPHRASES)/$(name)@%,$^)))
TELL_PARAPHRASES = $(TELL) gather $^ --suite --stated $(PARAPHRASE_HYPOTHESES) --folder $(PARAPHRASES) -o $@ \
  --title 'Trees that learn from paraphrases: nine tasks' --data $(PARAPHRASE_FILES) \
  --command 'make -C experiments strae-paraphrases SEEDS="$(SEEDS)"'
$(PARAPHRASES)/report.json: $(PARAPHRASES)/scores.jsonl $(PARAPHRASES)/compared.jsonl
	$(TELL_PARAPHRASES)
$(PARAPHRASES)/table.md: $(PARAPHRASES)/report.json
	$(TELL) show $< > $@

# what is not trained
$(eval $(call strae-slice,strae-paraphrases,TELL_PARAPHRASES,$(PARAPHRASES),pairs-untrained@0 pairs-untrained-words@0))
