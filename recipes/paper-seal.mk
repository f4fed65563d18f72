# SEAL with the settings of its paper, beside what the paper compares. `make data SET=structdocretrieval` has its data.
# Time on one H100, estimated: records × passes × tokens × 6 × 568M parameters (BGE-M3) / (989 TFLOP/s × 0.4), all pages of
# 4,096 tokens: 4.2 h each for tuned, mcls, santa and EAL (23,816 × 2 × (32 + 9 × 4,096)), 8.4 h for SAL, which reads
# two versions. Measured with chunks of 8: 5.7 s a step, so 9.4 h each, and 19 h for SAL.
# A batch of 8 × 9 pages needs memory: PAPER_FLAGS='--bf16 --chunk-size 8'.
.PHONY: paper-seal seal-manuals
paper-seal: $(RUNNABLE) ## SEAL as published: make paper-seal [MODEL=…] [PAPER_FLAGS='--bf16 --chunk-size 8']
	$(call needs,structdocretrieval/train.json)
	@$(MAKE) --no-print-directory $(PE)/table.md
	@cat $(PE)/table.md

# SEAL's rows on public pages: sections of Apache's manual to train on, and sections of Git's to search
seal-manuals: $(RUNNABLE)
	$(call needs,manuals/train.jsonl.gz)
	@OMP_NUM_THREADS=1 $(MAKE) --no-print-directory $(SEAL_MANUALS)/table.md PE=$(SEAL_MANUALS) PE_DATA=$(SEAL_MANUALS) MODEL='$(or $(MODEL),minilm)' PE_PAIRS='$(or $(PE_PAIRS),256)' \
	  PAPER_FLAGS='--document-length 128 --negatives-per-query 1 --epochs 1 --learning-rate 5e-5 $(PAPER_FLAGS)'
	@cat $(SEAL_MANUALS)/table.md

# a heading of four words or more asks for its section, where the page's title takes its place
SEAL_MANUALS := runs/seal-manuals
ASKING := ^(?!Apache )[A-Z][A-Za-z\x27-]+(,?:?\s+[A-Za-z0-9\x27/-]+){3,11}\??\s*$$
$(SEAL_MANUALS)/train.json $(SEAL_MANUALS)/test.json: $(SEAL_MANUALS)/%.json: $(DATA)/manuals/%.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) collect --records $< --unit section | $(STRUCTKIT) select --where 'text~(?s)^.{200}' \
	  | $(STRUCTKIT) pair --query html --positive html \
	  | $(STRUCTKIT) select --strip 'query=(?s)</(h\d|dt)>.*|<[^>]*>|&para;' --strip 'positive=(?s)^\s*<(h\d|dt)\b.*?</\1>' \
	  | $(STRUCTKIT) select --where 'query~$(ASKING)' \
	  | $(STRUCTKIT) pair --query query --positive-template '<h1>{title}</h1>{positive}' --dedupe \
	  | $(STRUCTKIT) select --fields id,query,positive --rename positive=content -o $@

PE := runs/paper-seal
PE_DATA = $(DATA)/structdocretrieval
PE_MODEL = $(call start-model,BAAI/bge-m3)
# section 4.1; the temperature is FlagEmbedding's for BGE
PE_TRAIN = --learning-rate 1e-5 --epochs 2 --batch-size 8 --query-length 32 --document-length 4096 \
  --negatives-per-query 8 --temperature 0.02 --save-every 100 $(RESUME) $(PAPER_FLAGS)
# queries to train on; without a number, all
PE_PAIRS :=
PE_FEWER = $(if $(PE_PAIRS),| $(STRUCTKIT) select --sample $(PE_PAIRS))
PE_TEXT := --document-field untagged --normalize

$(PE)/train-pages.jsonl $(PE)/test-pages.jsonl: $(PE)/%-pages.jsonl: $(PE_DATA)/%.json
	@mkdir -p $(@D)
	$(STRUCTKIT) convert --from structdocretrieval $< $(if $(filter train,$*),$(PE_FEWER)) \
	  | $(STRUCTKIT) html-variants --mask-ratio 0.1 --on-error skip -o $@

# the paper does not say where its negatives come from: here from the first hundred pages of the start model
$(PE)/variants.jsonl: $(PE)/train-pages.jsonl $(PE)/start.model
	$(STRUCTKIT) encode -m $(PE)/start.model --field untagged $< -o $(PE)/mined.npy
	$(STRUCTKIT) search $(PE)/mined.npy -m $(PE)/start.model --queries $< -o $(PE)/mined.jsonl
	$(STRUCTKIT) pair $< --positive html --corpus $< --negatives-from $(PE)/mined.jsonl --depth 100 --per-query 8 \
	  --on-error skip | $(STRUCTKIT) html-variants --field positive --mask-ratio 0.1 -o $@
# terms that query, title and body share
$(PE)/masked.jsonl: $(PE)/variants.jsonl
	$(STRUCTKIT) select $< --fields id,query,tagged,negatives_tagged --rename tagged=positive \
	  --rename negatives_tagged=negatives | $(STRUCTKIT) mask-entities --language html --keep-plain --on-error skip -o $@

# all methods continue from the model that is fine-tuned on text
$(PE)/start.model: $(PE)/train-pages.jsonl
	$(STRUCTKIT) train contrastive $< -o $@ --model $(PE_MODEL) $(PE_TRAIN) $(PE_TEXT) --negatives-per-query 0 --max-steps 0
$(PE)/tuned.model: $(PE)/start.model $(PE)/variants.jsonl
	$(STRUCTKIT) train contrastive --model $^ -o $@ $(PE_TRAIN) $(PE_TEXT)
$(PE)/mcls.model: $(PE)/tuned.model $(PE)/variants.jsonl
	$(STRUCTKIT) train contrastive --model $^ -o $@ $(PE_TRAIN) $(PE_TEXT) --pooling mcls --mcls-every 256
$(PE)/santa.model: $(PE)/tuned.model $(PE)/masked.jsonl
	$(STRUCTKIT) train santa --model $^ -o $@ $(PE_TRAIN)
$(PE)/seal.model: $(PE)/tuned.model $(PE)/variants.jsonl
	$(STRUCTKIT) train seal --model $^ -o $@ $(PE_TRAIN) --stages element,structure

PE_READS_santa := --field tagged
PE_READS_seal := --field tagged
PE_READS_chunk := --field untagged --chunk 510
PE_ROWS := start tuned chunk mcls santa seal
$(PE)/chunk.model: $(PE)/tuned.model
	ln -sfn $(<F) $@
$(PE_ROWS:%=$(PE)/%.run.jsonl): $(PE)/%.run.jsonl: $(PE)/%.model $(PE)/test-pages.jsonl
	$(STRUCTKIT) encode -m $^ $(or $(PE_READS_$*),--field untagged) -o $(PE)/$*.npy
	$(STRUCTKIT) search $(PE)/$*.npy -m $< --queries $(word 2,$^) -o $@
$(PE)/bm25.run.jsonl: $(PE)/test-pages.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field untagged --queries $< -o $@
$(PE)/table.md: $(patsubst %,$(PE)/%.run.jsonl,bm25 $(PE_ROWS))
	$(STRUCTKIT) score $^ --qrels self --markdown -o $@ \
	  --measures 'HitRate@1 HitRate@3 HitRate@5 MRR@5 MRR@10 nDCG@5 nDCG@10'
