# Do subjects of commits teach `ask` to find the place of a fault? The bundled table is trained on the subjects of commits of 30
# projects and the functions that they changed, and finds the files of the bug reports of six others.
#   commits-tried  chooses the rate of COMMIT_RATES by the pairs of COMMIT_HELD_OUT, which are not trained on
# Stated on 2026-11-29, before the first run: the files of reports are found no more often, neither by title nor by whole text.
.PHONY: commits commits-tried

COMMITS := runs/commits
COMMIT_PROJECTS := $(shell cut -f1 experiments/commits.tsv)
COMMIT_HELD_OUT := urllib3 marshmallow trio
COMMIT_LINES := 2000
COMMIT_RATES := 0.001 0.003 0.01 0.03
COMMIT_RATE := 0.01
COMMIT_FLAGS := --epochs 2 --batch-size 2048 --temperature 0.05 --symmetric --query-length 64 --document-length 256 \
  --validate $(COMMITS)/held-out.jsonl --validate-measure RR@10

commits: $(COMMITS)/pairs.jsonl ## Bug reports after training on commits
	$(call needs,localization/issues.jsonl.xz)
	$(MAKE) $(COMMITS)/$(COMMIT_RATE).model
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.localization title ask --model $(COMMITS)/$(COMMIT_RATE).model \
	  --data $(DATA)/localization --folder $(LOCALIZATION) -o $(COMMITS)/table.md
	@cat $(COMMITS)/table.md

commits-tried: $(COMMIT_RATES:%=$(COMMITS)/%.model) ## Rates for commits
	@grep -h held_out $(COMMIT_RATES:%=$(COMMITS)/%.trained.jsonl)

$(COMMITS)/%.model: $(COMMITS)/pairs.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train contrastive $< --model builtin $(COMMIT_FLAGS) --learning-rate $* $(RESUME) -o $@ > $(COMMITS)/$*.trained.jsonl

$(COMMITS)/pairs.jsonl: $(COMMIT_PROJECTS:%=$(COMMITS)/%.jsonl)
	$(BIN)/python -m experiments.commits $^ --held-out $(COMMIT_HELD_OUT) -o $@ --held-out-pairs $(COMMITS)/held-out.jsonl

# the history up to the revision in the list, which needs the network once
$(COMMITS)/%.jsonl: | $(INSTALLED)
	@mkdir -p $(COMMITS)
	[ -d $(COMMITS)/$*.git ] || git clone -q --bare https://github.com/$$(grep '^$*	' experiments/commits.tsv | cut -f2) $(COMMITS)/$*.git
	git -C $(COMMITS)/$*.git update-ref HEAD $$(grep '^$*	' experiments/commits.tsv | cut -f4)
	$(STRUCTKIT) collect $(COMMITS)/$*.git --unit commit | head -n $(COMMIT_LINES) > $@.part && mv $@.part $@
