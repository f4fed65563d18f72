# SANTA without labels beside fine-tuning on labelled pairs (tables 2 and 3): what two reports kept, nothing is trained.
#   packages, packages-plain   SANTA and alignment alone, on 8,508 functions of packages and their documentation
#   original-0, masked-0       alignment on 5,400 labelled pairs, of original and of masked code
.PHONY: santa-zero-shot report-code-zero-shot

ZERO_SHOT := runs/santa-zero-shot
# stated on 2026-11-26, after both runs: without labels, alignment and SANTA are as good as with labels
ZERO_SHOT_HYPOTHESES := packages-plain:original-0:pooled packages:original-0:pooled
santa-zero-shot: $(INSTALLED) ## Without labels beside fine-tuned
	$(call needs,codesearch/dev.jsonl.gz)
	$(BIN)/python -m experiments.kept --folder $(ZERO_SHOT) experiments/reports/code-unlabelled.json=start,packages,packages-plain \
	  experiments/reports/code-weights.json=original-0,masked-0
	$(TELL) gather $(patsubst %,$(ZERO_SHOT)/values-%.jsonl,$(LANGUAGES) adv) --against start original-0 masked-0 \
	  --title 'SANTA without labels beside fine-tuning: MiniLM, RR@100' --stated $(ZERO_SHOT_HYPOTHESES) \
	  --pool pooled $(LANGUAGES) --command 'make $@' --folder $(ZERO_SHOT) \
	  --data $(DATA)/codesearch/dev.jsonl.gz $(DATA)/codesearch/dev_adv_python.jsonl.gz -o $(ZERO_SHOT)/report.json
	$(TELL) show $(ZERO_SHOT)/report.json

report-code-zero-shot:
	@$(MAKE) --no-print-directory santa-zero-shot ZERO_SHOT=runs/report/zero-shot
	$(TELL) check experiments/reports/code-zero-shot.json runs/report/zero-shot/report.json
