"""Slack's names of emoji in Unicode, of those with which people answer; none for any other. Pure."""

from typing import Final

_TONE: Final = "::skin-tone-"
_NAMES: Final = (
    "👍 +1 thumbsup|👎 -1 thumbsdown|👌 ok_hand|👏 clap|🙌 raised_hands|🙏 pray|💪 muscle|👋 wave|✋ hand "
    "raised_hand|✌️ v|🤝 handshake|👆 point_up_2|🤷 shrug|🤦 facepalm face_palm|❤️ heart|💔 broken_heart|💯 "
    "100|🔥 fire|🎉 tada|🚀 rocket|⭐ star|✨ sparkles|💡 bulb|👀 eyes|🤔 thinking_face thinking|😀 grinning|😄 "
    "smile|😂 joy|🙂 slightly_smiling_face|😉 wink|😍 heart_eyes|😎 sunglasses|😢 cry|😭 sob|😡 rage|😠 "
    "angry|😞 disappointed|😕 confused|😮 open_mouth|😱 scream|🙁 slightly_frowning_face|💩 hankey poop|✅ "
    "white_check_mark|✔️ heavy_check_mark|☑️ ballot_box_with_check|❌ x|❎ negative_squared_cross_mark|🚫 "
    "no_entry_sign|⛔ no_entry|⚠️ warning|❗ exclamation heavy_exclamation_mark|❓ question|⏳ "
    "hourglass_flowing_sand|⌛ hourglass|🛑 octagonal_sign|🆗 ok|➕ heavy_plus_sign|➖ heavy_minus_sign"
)
_UNICODE: Final = {
    name: emoji for emoji, *names in map(str.split, _NAMES.split("|")) for name in names
}


def emoji_of(name: str) -> str | None:
    """Return the emoji of a name, without the tone of a skin; None if it is not known."""
    return _UNICODE.get(name.partition(_TONE)[0])
